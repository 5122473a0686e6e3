// Moving an image by a fraction of a pixel without blur.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// Moves the content of `image` (modes, N, N), or (k, modes, N, N), complex by each shift (k, 2)
/// (row, col) in pixels, cyclically: out(r) = in(r - d), by the shift theorem (Bracewell, The
/// Fourier Transform, ch. 6). Returns (k, modes, N, N). Unitary; its adjoint is the shift by -d.
/// Differentiable in the image.
at::Tensor fourier_shift(const at::Tensor& image, const at::Tensor& shifts);

}  // namespace ptyche
