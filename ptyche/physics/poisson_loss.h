// Negative logarithm of the probability of the counts.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/physics/reduction.h"

namespace ptyche {

/// Counts added to expectation and measurement alike. It keeps log and 1/I finite in pixels that
/// expect nothing, where a clamp would cut the gradient just where light is missing; added to the
/// expectation alone it would pull every pixel towards I = n - floor.
inline constexpr double kPoissonFloor = 0.01;

struct PoissonLossOptions {
  Reduction reduction = Reduction::sum;
  double floor = kPoissonFloor;  ///< counts, > 0
};

/// Poisson loss sum_q mask(q) (I - (n + floor) log(I + floor)), less its value at I = n, so that it
/// is 0 for a perfect fit and positive elsewhere: half the deviance (Thibault & Guizar-Sicairos,
/// New J. Phys. 14, 063004 (2012), eq. 3).
///   intensity  (..., N, N) expected counts, >= 0
///   counts     (..., N, N) measured
///   mask       (N, N) bool, or (..., N, N), true = counted; same order (FFT or centred) as the
///              others
/// Returns a scalar (Reduction::none: the pixels' terms). Differentiable in the intensity, with
/// dL/dI = (I - n) / (I + floor): finite, -n / floor at least, and 0 in the mean over noise at the
/// true I.
/// Throws InvalidInput that names both shapes where they differ.
at::Tensor poisson_loss(const at::Tensor& intensity, const at::Tensor& counts,
                        const at::Tensor& mask, const PoissonLossOptions& options = {});

}  // namespace ptyche
