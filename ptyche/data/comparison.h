// How far one complex image is from another, in numbers that a stranger can recompute.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/data/named_score.h"
#include "ptyche/data/window.h"

namespace ptyche {

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

}  // namespace ptyche
