// The two layers that stand before every convolution of our network, as one.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace ptyche {

/// gelu(w_c (x - mean_g) / sqrt(var_g + eps) + b_c): group normalisation (Wu & He, ECCV 2018, eq. 1
/// to 5) and GELU (Hendrycks & Gimpel, arXiv 1606.08415), Phi(z) z with the normal distribution's
/// own Phi, differentiable once.
///   x             (k, features, rows, cols); float32 or bfloat16 with the features innermost
///                 (channels_last) goes through kernels, all else through LibTorch's operations
///   weight, bias  (features) float32
///   groups        divides features
/// Returns x's shape, type and layout. The same bits for any number of threads.
at::Tensor group_norm_gelu(const at::Tensor& x, std::int64_t groups, const at::Tensor& weight,
                           const at::Tensor& bias, double eps);

/// What bytes stand for: value = (byte - zero) / per_unit.
struct ByteUnits {
  double per_unit = 1;    ///< above 0
  std::int64_t zero = 0;  ///< 0..255, the byte of a 0
};

/// group_norm_gelu, without gradients, as the nearest bytes: (k, features, rows, cols) uint8,
/// features innermost; what bytes cannot hold becomes 0 or 255, NaN the byte 0. For x on the CPU.
at::Tensor group_norm_gelu_bytes(const at::Tensor& x, std::int64_t groups, const at::Tensor& weight,
                                 const at::Tensor& bias, double eps, const ByteUnits& units);

}  // namespace ptyche
