// The exit wave seen slightly out of focus.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// 3 x 3 Gaussian mean, real and imaginary parts alike, as PtychoPINN applies it to the exit wave
/// (its `gaussian_smoothing_sigma`): weights exp(-(i^2 + j^2) / (2 sigma^2)), i, j = -1..1, divided
/// by their sum; beyond the border the image is mirrored at its outermost pixels (x[-1] = x[1]).
///   waves  (..., rows, cols) floating or complex, rows, cols >= 2
///   sigma  px, >= 0; 0 leaves the waves as they are
/// Returns the waves' shape and type. Linear; adjoint: smooth_adjoint, which differs in the two
/// outermost rows and columns. Throws InvalidInput for other waves or sigma.
at::Tensor smooth(const at::Tensor& waves, double sigma);

/// Adjoint of smooth.
at::Tensor smooth_adjoint(const at::Tensor& waves, double sigma);

}  // namespace ptyche
