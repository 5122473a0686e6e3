// The distance between expected and measured counts that is minimised; formulas.h has the formulas.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <string>
#include <vector>

#include "ptyche/physics/formulas.h"

namespace ptyche {

/// What there is to know about one loss (formulas.h).
struct LossInfo {
  LossKind kind;
  std::string name;      ///< as users type it
  double floor = 0;      ///< counts
  LossUnit unit = {};    ///< what training divides it by
  double curvature = 0;  ///< over the squared change of the amplitude; 0 = it has none
};

/// All losses, in the order of LossKind.
const std::vector<LossInfo>& losses();
const LossInfo& info_of(LossKind kind);
/// Throws InvalidInput listing the names that exist.
LossKind loss_kind_from(const std::string& name);

/// The loss of every pixel.
///   intensity  (..., N, N) expected counts, >= 0
///   counts     (..., N, N) measured
///   mask       (N, N) bool, or (..., N, N), true = counted; same order (FFT or centred) as the
///   others floor      counts, > 0; nothing = the loss's own
/// Returns (..., N, N), 0 where the mask is false, with slope 0: whatever stands there in the
/// others, NaN too. Differentiable in the intensity. Throws InvalidInput that names both shapes
/// where they differ.
at::Tensor pixel_losses(LossKind kind, const at::Tensor& intensity, const at::Tensor& counts,
                        const at::Tensor& mask, std::optional<double> floor = {});

/// Its sum over patterns and pixels.
at::Tensor summed_loss(LossKind kind, const at::Tensor& intensity, const at::Tensor& counts,
                       const at::Tensor& mask, std::optional<double> floor = {});

/// What training divides the loss by: the photons of the counts (..., N, N) under the mask, or the
/// sum of their square roots.
double units_of(LossKind kind, const at::Tensor& counts, const at::Tensor& mask);

}  // namespace ptyche
