// How good a result is, in numbers that a stranger can recompute.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/data/comparison.h"
#include "ptyche/data/named_score.h"

namespace ptyche {

/// How well predicted intensities I fit counts n over a set of frames.
///   r_factor              sum |sqrt I - sqrt n| / sum sqrt n
///   deviance_per_photon   2 sum [n ln(n/I) - (n - I)] / sum n, I clipped below at 0.01 count
/// The floors are the same numbers for Poisson draws of I in place of n (the deviance still per
/// measured photon): what a perfect model would get.
struct DataFit {
  std::int64_t frames = 0;
  double r_factor = 0, r_factor_floor = 0;
  double deviance_per_photon = 0, deviance_per_photon_floor = 0;
};

/// The fit of predictions that know nothing of positions: the mean amplitude of the used patterns,
/// squared (the best constant guess for R), and their mean pattern (the best one for the deviance).
struct TrivialFit {
  double r_factor = 0, deviance_per_photon = 0;  ///< mean amplitude squared
  double mean_pattern_r_factor = 0, mean_pattern_deviance_per_photon = 0;  ///< mean pattern
};

/// What an iterative refinement of the network's image took and gave.
struct RefinementGain {
  std::int64_t passes = 0;
  double seconds = 0;
  std::optional<DataFit> held_out_before = {};  ///< of the network's image
};

/// Distance of positions from the true ones, root mean square of both axes together, px; the common
/// shift, which no pattern can tell, is left out.
struct PositionError {
  double rmse_px = 0, given_rmse_px = 0;  ///< of the result, and of the scan file
};

/// Absent parts were not measured (no hold-out, no truth, no mask).
/// All fits leave out the pixels that the scan's mask hides, but held_out_all_pixels, which is
/// there only where the mask hides some.
struct Scores {
  std::optional<DataFit> used = {}, held_out = {}, held_out_all_pixels = {}, unseen_half = {};
  /// trivial: on the held-out patterns, else on the used ones
  std::optional<TrivialFit> trivial = {}, unseen_trivial = {};
  /// the object against the scan's truth; the image of the odd patterns against that of the even
  /// ones
  std::optional<Comparison> truth = {}, half_sets = {};
  std::optional<RefinementGain> refinement = {};
  /// Passes that a solver made before it diverged; the image is then its best state.
  std::optional<std::int64_t> passes_before_divergence = {};
  std::optional<PositionError> positions = {};
  double seconds = 0;          ///< wall clock from reading to the stitched image
  double object_contrast = 0;  ///< standard deviation of the object over its mean, lit part
};

/// All measured numbers in the order in which a report shows them; each trivial predictor follows
/// the score that it stands beside.
std::vector<NamedScore> named_scores(const Scores& scores);

}  // namespace ptyche
