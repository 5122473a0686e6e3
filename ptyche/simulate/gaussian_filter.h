// Gaussian blur of a whole image.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// Separable Gaussian mean as scipy.ndimage.gaussian_filter computes it: weights exp(-k^2 / (2
/// sigma^2)) for |k| <= int(truncate sigma + 1/2), divided by their sum; beyond the border the
/// image is mirrored between pixels (x[-1] = x[0]), as often as needed.
///   image  (rows, cols) float64
///   sigma  px, > 0; truncate > 0
/// Returns (rows, cols) float64, the same for any thread count. Linear and its own adjoint up to
/// the border.
at::Tensor gaussian_filter(const at::Tensor& image, double sigma, double truncate = 4);

}  // namespace ptyche
