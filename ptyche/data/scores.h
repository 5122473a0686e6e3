// How good a result is, in numbers that a stranger can recompute.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

/// Error of the object against a known truth inside the window lit by the scan, after one joint
/// alignment (shift, phase ramp, complex scale).
struct TruthError {
  double nrmse = 0, nrmse_contrast = 0;
  double amplitude_rmse = 0, phase_rmse_rad = 0;
  std::optional<double> ssim_amplitude, ssim_phase;  ///< absent where the truth's is constant
  double frc_half_cycles_per_px = 0;  ///< where the Fourier ring correlation falls below 0.5
  double shift_row_px = 0, shift_col_px = 0;  ///< that the image needed beyond its known origin
  double ramp_row_cycles_per_px = 0, ramp_col_cycles_per_px = 0;
  double scale_abs = 0, scale_phase_rad = 0;
  double flat_nrmse_contrast = 0;  ///< of a flat object: 1, or less where the ramp fits the truth
  double blurred_nrmse_contrast = 0;  ///< of the truth blurred with sigma = 1 px
};

/// Absent parts were not measured (no hold-out, no truth, no mask).
/// All fits leave out the pixels that the scan's mask hides, but held_out_all_pixels, which is
/// there only where the mask hides some.
struct Scores {
  std::optional<DataFit> used, held_out, held_out_all_pixels, unseen_half;
  /// trivial: on the held-out patterns, else on the used ones
  std::optional<TrivialFit> trivial, unseen_trivial;
  std::optional<TruthError> truth;
  double seconds = 0;          ///< wall clock from reading to the stitched image
  double object_contrast = 0;  ///< standard deviation of the object over its mean, lit part
};

/// One number with the name it has in scores.json and what it means.
struct NamedScore {
  std::string name;  ///< e.g. "held_out.r_factor"
  double value;
  std::string meaning;  ///< plain words, unit included
};

/// All measured numbers in the order in which a report shows them.
std::vector<NamedScore> named_scores(const Scores& scores);

}  // namespace ptyche
