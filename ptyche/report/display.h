// What is done to an object before it is shown: choose the part worth showing, the range of the
// colours, and take away the phases that no diffraction pattern can tell.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

namespace ptyche {

/// Half-open index ranges.
struct PixelBox {
  std::int64_t row_begin = 0, row_end = 0, col_begin = 0, col_end = 0;
  std::int64_t rows() const { return row_end - row_begin; }
  std::int64_t cols() const { return col_end - col_begin; }
};

struct ValueRange {
  double low = 0, high = 1;
};

/// Pixels, (rows, cols) bool, whose `coverage` (rows, cols; >= 0) exceeds `fraction` (0..1) of its
/// maximum; all pixels where nothing is lit.
at::Tensor lit_above(const at::Tensor& coverage, double fraction);

/// The smallest box around the true pixels of `mask` (rows, cols) bool; the whole where none is.
PixelBox bounding_box(const at::Tensor& mask);

/// A view of `image` (rows, cols, ...) inside the box.
at::Tensor crop(const at::Tensor& image, const PixelBox& box);

/// 1st to 99th percentile of the finite `values` (rows, cols) where `mask` is true. Always finite
/// and low < high: a constant is given a margin of 5 % (0.05 around 0), no values at all give 0..1.
ValueRange robust_range(const at::Tensor& values, const at::Tensor& mask);

/// A mask that leaves out none of `values` (any shape).
at::Tensor everywhere(const at::Tensor& values);

/// The robust range of several images together, each (rows, cols) of one shape and type.
ValueRange common_range(const std::vector<at::Tensor>& images);

/// The amplitude that only the brightest half percent of `values` (any shape, complex) exceeds:
/// what is shown at full brightness, so that one hot pixel does not darken the rest. Positive
/// always.
double bright_level(const at::Tensor& values);

/// A phase as shown, and what was removed from it.
struct DisplayPhase {
  at::Tensor phase_rad;  ///< (rows, cols) float32 in (-pi, pi]
  double ramp_row_rad_per_px = 0, ramp_col_rad_per_px = 0;
};

/// Phase of `object` (rows, cols) complex without its linear ramp (the strongest plane wave of the
/// part where `mask` is true: peak of the spectrum, refined by a matrix Fourier transform as in
/// Guizar-Sicairos et al., Opt. Lett. 33, 156 (2008)) and without its mean phase (the angle of the
/// sum over that part).
DisplayPhase display_phase(const at::Tensor& object, const at::Tensor& mask);

}  // namespace ptyche
