// Structural similarity.
#pragma once

#include <ATen/ATen.h>

#include <optional>

namespace ptyche {

/// Mean structural similarity of two real images (rows, cols) float64 of one shape (Wang et al.,
/// IEEE Trans. Image Process. 13, 600 (2004), eqs. 13 and 17): 11 x 11 Gaussian window of
/// sigma 1.5, K = (0.01, 0.03), data range = maximum less minimum of `truth`, over the pixels whose
/// window lies in the image. 1 = identical. Absent where the truth is constant (range below 1e-9 of
/// its largest magnitude). Throws InvalidInput for images smaller than 11 x 11.
std::optional<double> ssim(const at::Tensor& truth, const at::Tensor& image);

}  // namespace ptyche
