// Negative logarithm of the probability of the counts.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// Counts added to the expectation inside the logarithm. It keeps log and 1/I finite in pixels that
/// expect nothing; a clamp instead would cut the gradient just where light is missing.
inline constexpr double kPoissonFloor = 0.01;

/// Poisson loss sum_q mask(q) (I - n log(I + floor)), less its value at I = n so that a perfect fit
/// is near 0: half the deviance (Thibault & Guizar-Sicairos, New J. Phys. 14, 063004 (2012), eq.
/// 3).
///   intensity  (k, N, N) expected counts, >= 0
///   counts     (k, N, N) measured
///   mask       (N, N) bool, true = counted; same order (FFT or centred) as the others
/// Returns a scalar, the sum over patterns and pixels. Differentiable in the intensity.
at::Tensor poisson_loss(const at::Tensor& intensity, const at::Tensor& counts,
                        const at::Tensor& mask);

}  // namespace ptyche
