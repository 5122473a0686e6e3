// Smoothing by a cut-off Gaussian.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace ptyche {

/// Weights of a Gaussian of standard deviation `sigma_px`, cut at `radius` pixels, of sum 1:
/// (2 radius + 1) float64.
at::Tensor gaussian_weights(double sigma_px, std::int64_t radius);

/// Convolution of a real or complex image (rows, cols) with `weights` (n odd) along both axes; only
/// where they fit: (rows - n + 1, cols - n + 1).
at::Tensor separable_mean(const at::Tensor& image, const at::Tensor& weights);

/// The two together: (rows - 2 radius, cols - 2 radius).
at::Tensor gaussian_blur(const at::Tensor& image, double sigma_px, std::int64_t radius);

}  // namespace ptyche
