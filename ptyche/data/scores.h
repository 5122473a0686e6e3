// How good a result is, in numbers that a stranger can recompute.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/core/remark.h"
#include "ptyche/data/array.h"
#include "ptyche/data/trust.h"
#include "ptyche/data/verdict.h"

namespace ptyche {

/// One number with the name it has in a file and what it means.
struct NamedScore {
  std::string name;  ///< e.g. "held_out.r_factor"
  double value;
  std::string meaning;  ///< plain words, unit included
  /// Empty: a score of the result. Else this is what that guess, which resolves little or nothing,
  /// gets for the last score before it that has none.
  std::string predictor = {};
};

/// One value per ring of whole-number radius 0..n/2, where n is the images' shorter side.
struct RingCorrelation {
  std::vector<double> cycles_per_px;      ///< radius / n
  std::vector<double> correlation;        ///< -1..1; 0 where a ring of either image is empty
  std::vector<double> half_bit, one_bit;  ///< thresholds of the ring
};

/// Where a Fourier ring correlation first falls below each threshold, cycles per object pixel.
struct RingCrossings {
  double half_bit = 0, one_bit = 0, half = 0, one_seventh = 0;
};

/// r(x) -> scale exp(2 pi i ramp.(x - centre of the window)) r(x - shift), x in the reference's
/// pixels.
struct Gauge {
  double shift_row_px = 0, shift_col_px = 0;
  double ramp_row_cycles_per_px = 0, ramp_col_cycles_per_px = 0;
  std::complex<double> scale{1, 0};
};

/// Errors over tiles of 32 x 32 pixels, each under a gauge of its own: what is left of the error
/// where slow drifts of phase, position and scale are forgiven.
struct TileError {
  std::int64_t tiles = 0;
  double median = 0, mean = 0;  ///< of the tiles' nrmse_contrast
};

/// Errors of an image under one joint gauge.
struct ImageError {
  double nrmse = 0, nrmse_contrast = 0;  ///< over the reference; over its deviation from its mean
  double amplitude_rmse = 0, phase_rmse_rad = 0;
  double low_frequency_phase_rad = 0;                ///< of the mean phases of 16 x 16 px blocks
  std::optional<double> ssim_amplitude, ssim_phase;  ///< absent where the reference's is constant
  std::optional<TileError> tiles;  ///< absent where no tile fits or none has contrast
  RingCrossings frc;
};

/// The image laid another way (turned, mirrored, conjugated, ...) which fits the reference far
/// better.
struct OtherView {
  std::string how;            ///< "conjugated and turned by 180 degrees (its twin, ...)"
  double nrmse_contrast = 0;  ///< of the image laid so
};

/// An image beside a reference, and what two guesses get in its place.
struct Comparison {
  ImageError error;
  ImageError flat;     ///< of an object of ones
  ImageError blurred;  ///< of the reference blurred with sigma = 1 px
  Gauge gauge;         ///< the shift is counted from where the files say that the image lies
  Window window;       ///< what was compared, in the reference's pixels
  double amplitude_range = 0, phase_range_rad = 0;  ///< of the reference: the data ranges of SSIM
  double object_pixel_m = 0;                        ///< 0 = not known
  RingCorrelation rings;
  std::optional<OtherView> other_view = {};  ///< looked for only where the image is far off
};

/// What the two images are called in the meanings.
struct ComparisonWords {
  std::string group;      ///< before each name, e.g. "truth."; may be empty
  std::string image;      ///< e.g. "the object"
  std::string reference;  ///< e.g. "the truth"
};

/// All numbers of a comparison, each followed by what the two guesses get; lengths in nm only where
/// the object pixel is known.
std::vector<NamedScore> named_scores(const Comparison& comparison, const ComparisonWords& words);

/// Only how far the two agree: the crossings of their Fourier ring correlation, and the error over
/// the contrast.
std::vector<NamedScore> named_agreement(const Comparison& comparison, const ComparisonWords& words);

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

/// Whether R tells a good image from a bad one: not where photon noise alone leaves .8 and more of
/// what the better of the two guesses leaves. With less than some photons in most pixels R prefers
/// guesses that are too dark to the true model; the deviance never does.
bool r_factor_tells(const DataFit& fit, const std::optional<TrivialFit>& guesses);

/// What an iterative refinement of the network's image took and gave.
struct RefinementGain {
  std::int64_t passes = 0;
  double seconds = 0;
  std::optional<DataFit> held_out_before = {};  ///< of the network's image
  /// Of the refined image, where it was worse and the network's was kept: else nothing.
  std::optional<DataFit> undone = {};
};

/// Distance of positions from the true ones, root mean square of both axes together, px; the common
/// shift, which no pattern can tell, is left out.
struct PositionError {
  double rmse_px = 0, given_rmse_px = 0;  ///< of the result, and of the scan file
};

/// What a search for the first probe came to, deviance per photon of patterns that it held out.
struct ProbeScore {
  bool of_file = false;  ///< the file's probe was not beaten
  bool sure = false;     ///< photons enough to tell, and more than half explained
  double deviance = 0, noise = 0, mean_pattern = 0, seconds = 0;
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
  std::optional<ProbeScore> probe = {};
  std::optional<Verdict> verdict = {};
  std::optional<Trust> trust = {};   ///< of an image by the program's network
  std::vector<Remark> remarks = {};  ///< what was corrected and said on the way
  double seconds = 0;                ///< wall clock from reading to the stitched image
  double object_contrast = 0;        ///< standard deviation of the object over its mean, lit part
};

/// All measured numbers in the order in which a report shows them; each trivial predictor follows
/// the score that it stands beside.
std::vector<NamedScore> named_scores(const Scores& scores);

}  // namespace ptyche
