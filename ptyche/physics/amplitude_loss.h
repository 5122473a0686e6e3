// Difference of the square roots of expected and measured counts.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/physics/reduction.h"

namespace ptyche {

/// Counts added under both square roots, so that the gradient stays finite in pixels that expect
/// nothing and a perfect fit still gives 0.
inline constexpr double kAmplitudeFloor = 0.01;

enum class AmplitudeNorm {
  square,    ///< (sqrt(I + floor) - sqrt(n + floor))^2
  absolute,  ///< |sqrt(I + floor) - sqrt(n + floor)|
};

struct AmplitudeLossOptions {
  AmplitudeNorm norm = AmplitudeNorm::square;
  Reduction reduction = Reduction::sum;
  /// counts, >= 0; with 0 the gradient is infinite where I = 0
  double floor = kAmplitudeFloor;
};

/// Amplitude loss: for bright pixels a Gaussian likelihood of the amplitudes, whose noise is 1/2
/// whatever the counts (Godard et al., Opt. Express 20, 25914 (2012); `absolute` is the MAE
/// of PtychoPINN).
///   intensity  (..., N, N) expected counts, >= 0
///   counts     (..., N, N) measured
///   mask       (N, N) bool, or (..., N, N), true = counted; the same order as the others
/// Returns a scalar (Reduction::none: the pixels' terms). Differentiable in the intensity: dL/dI is
/// 1 - sqrt((n + floor) / (I + floor)) for `square`, sign(I - n) / (2 sqrt(I + floor)) for
/// `absolute`, whose kink at I = n has gradient 0 (the mean of both sides).
/// Throws InvalidInput that names both shapes where they differ.
at::Tensor amplitude_loss(const at::Tensor& intensity, const at::Tensor& counts,
                          const at::Tensor& mask, const AmplitudeLossOptions& options = {});

}  // namespace ptyche
