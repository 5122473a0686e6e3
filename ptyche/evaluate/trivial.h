// An object that resolves little: a guess to stand beside a score.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// The complex image (rows, cols) blurred by a Gaussian of sigma = 1 pixel, continued beyond its
/// border by the border's values: complex128 of the same shape.
at::Tensor blurred_by_one_px(const at::Tensor& image);

}  // namespace ptyche
