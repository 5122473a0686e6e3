// How the terms of a loss become one number.
#pragma once

#include <ATen/ATen.h>

#include <string>

namespace ptyche {

enum class Reduction {
  sum,   ///< over patterns and counted pixels
  mean,  ///< the sum over the number of counted pixels of all patterns; 0 if there are none
  none,  ///< every pixel's own term, masked ones 0
};

/// Throws InvalidInput that names both shapes unless intensity and counts (..., N, N) have one
/// shape and the mask is (N, N) bool, or has the same shape as they.
void require_loss_shapes(const std::string& loss, const at::Tensor& intensity,
                         const at::Tensor& counts, const at::Tensor& mask);

/// Terms (..., N, N) under a mask (N, N), which holds for every pattern, or (..., N, N).
at::Tensor reduce_terms(const at::Tensor& terms, const at::Tensor& mask, Reduction reduction);

}  // namespace ptyche
