// Negative logarithm of the probability of the counts.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/physics/reduction.h"

namespace ptyche {

/// Counts added to the expectation inside the logarithm. It keeps log and 1/I finite in pixels that
/// expect nothing; a clamp instead would cut the gradient just where light is missing.
inline constexpr double kPoissonFloor = 0.01;

struct PoissonLossOptions {
  Reduction reduction = Reduction::sum;
  double floor = kPoissonFloor;  ///< counts, > 0
};

/// Poisson loss sum_q mask(q) (I - n log(I + floor)), less its value at I = n so that a perfect fit
/// is near 0: half the deviance (Thibault & Guizar-Sicairos, New J. Phys. 14, 063004 (2012), eq.
/// 3).
///   intensity  (..., N, N) expected counts, >= 0
///   counts     (..., N, N) measured
///   mask       (N, N) bool, or (..., N, N), true = counted; same order (FFT or centred) as the
///              others
/// Returns a scalar (Reduction::none: the pixels' terms). Differentiable in the intensity, with
/// dL/dI = 1 - n / (I + floor): finite, 1 - n / floor at least.
/// Throws InvalidInput that names both shapes where they differ.
at::Tensor poisson_loss(const at::Tensor& intensity, const at::Tensor& counts,
                        const at::Tensor& mask, const PoissonLossOptions& options = {});

}  // namespace ptyche
