// What is known of every object before a photon is counted: neighbouring pixels are alike.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// Negative logarithm of a Gaussian prior, sum |O(x) - O(x + 1)|^2 / (2 slope^2) over rows and
/// columns, and its gradient (dL/dRe + i dL/dIm) added to `gradient` times `share`.
///   object, gradient  (rows, cols) complex64, the gradient contiguous
///   slope             root mean square change of the object from pixel to pixel, > 0
/// Returns the value times `share`.
double add_smoothness(const at::Tensor& object, double slope, double share, at::Tensor& gradient);

/// The prior's curvature is 8 / (2 slope^2) or less, that of the counts 2 `light` where `light`
/// photons per pixel fall: whether the prior is more than a percent of it.
bool smoothness_matters(double slope, double light);

}  // namespace ptyche
