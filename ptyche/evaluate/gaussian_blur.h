// Smoothing by a cut-off Gaussian.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace ptyche {

/// Convolution of a real or complex image (rows, cols) with a Gaussian of standard deviation
/// `sigma_px`, cut at `radius` pixels and normalised to sum 1; only where the kernel fits:
/// (rows - 2 radius, cols - 2 radius).
at::Tensor gaussian_blur(const at::Tensor& image, double sigma_px, std::int64_t radius);

}  // namespace ptyche
