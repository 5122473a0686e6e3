// One call of the fused engine made out of tensors: plain pointers, and the tensors that they point
// into.
#pragma once

#include "ptyche/engine/cpu/fused_loss.h"
#include "ptyche/engine/group_loss.h"

namespace ptyche {

/// Everything of a call that is no differentiable argument.
struct FusedSetting {
  CanvasLayout layout;
  at::Tensor merged;  // undefined for a whole object
  at::Tensor counts, mask;
  LossOptions options;
};

/// What the kernels read and write, as contiguous tensors of one precision.
template <class T>
struct FusedCall {
  at::Tensor picture, probe, background, counts, mask, weight, transfer;
  at::Tensor picture_gradient, probe_gradient, background_gradient, place_gradient;
  cpu::LossCall<T> call;
};

/// The call for patches, or an object where setting.merged is undefined; `background` has no
/// numbers where there is none. With `gradient` there are tensors for what comes back.
template <class T>
FusedCall<T> make_fused_call(const FusedSetting& setting, const at::Tensor& picture,
                             const at::Tensor& probe, const at::Tensor& background, bool gradient);

extern template FusedCall<float> make_fused_call(const FusedSetting&, const at::Tensor&,
                                                 const at::Tensor&, const at::Tensor&, bool);
extern template FusedCall<double> make_fused_call(const FusedSetting&, const at::Tensor&,
                                                  const at::Tensor&, const at::Tensor&, bool);

}  // namespace ptyche
