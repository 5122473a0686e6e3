// One joint gauge alignment of two complex images: what ptychography cannot know is removed at
// once.
#pragma once

#include <ATen/ATen.h>

#include <complex>

#include "ptyche/evaluate/window.h"

namespace ptyche {

/// r(x) -> scale exp(2 pi i ramp.(x - centre of the window)) r(x - shift), x in the truth's pixels.
struct Gauge {
  double shift_row_px = 0, shift_col_px = 0;
  double ramp_row_cycles_per_px = 0, ramp_col_cycles_per_px = 0;
  std::complex<double> scale{1, 0};
};

struct Alignment {
  at::Tensor aligned;  ///< image under the fitted gauge, cut to the window, complex128
  at::Tensor truth;    ///< the truth in the window, complex128
  Gauge gauge;
};

/// Fits the gauge that brings `image` onto `truth`, both (rows, cols) complex and of any two
/// shapes, by least squares over `window`: whole pixels by cross-correlation of edge images, the
/// ramp by the peak of its spectrum, then Gauss-Newton on all seven numbers with the scale solved
/// inside (variable projection, Golub & Pereyra, SIAM J. Numer. Anal. 10, 413 (1973)). Pixels
/// between pixels come from the shift theorem; a conjugated, flipped or transposed image is not
/// undone. Throws InvalidInput if the window leaves the truth or is smaller than 8 x 8.
Alignment align(const at::Tensor& truth, const at::Tensor& image, const Window& window);

}  // namespace ptyche
