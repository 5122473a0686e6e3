// One joint gauge alignment of two complex images: what ptychography cannot know is removed at
// once.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/data/comparison.h"

namespace ptyche {

struct Alignment {
  at::Tensor aligned;  ///< image under the fitted gauge, cut to the window, complex128
  at::Tensor truth;    ///< the truth in the window, complex128
  Gauge gauge;
  at::Tensor source;  ///< the image as it was moved last, complex128: what tiles go on from,
  Gauge rest;         ///< which only lacks this
};

/// Fits the gauge that brings `image` onto `truth`, both (rows, cols) complex and of any two
/// shapes, by least squares over `window`: whole pixels by cross-correlation of edge images, the
/// ramp by the peak of its spectrum, then Gauss-Newton on all seven numbers with the scale solved
/// inside (variable projection, Golub & Pereyra, SIAM J. Numer. Anal. 10, 413 (1973)). Pixels
/// between pixels come from the shift theorem, the image's surroundings faded or continued
/// periodically, whichever leaves less; a conjugated, flipped or transposed image is not
/// undone. An image that is constant everywhere has nothing to be moved by: only its scale is
/// fitted (shift and ramp stay 0), so that it scores exactly 1 in nrmse_contrast.
/// Throws InvalidInput if the window leaves the truth or is smaller than 8 x 8.
Alignment align(const at::Tensor& truth, const at::Tensor& image, const Window& window);

/// The same from a gauge that is nearly right, without the search over whole pixels; `image` is
/// complex128. Ends when a step lessens the error by less than `enough` of the truth's norm.
Alignment realign(const at::Tensor& truth, const at::Tensor& image, const Window& window,
                  const Gauge& start, double enough = 1e-13);

}  // namespace ptyche
