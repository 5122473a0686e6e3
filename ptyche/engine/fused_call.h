// One call of the fused engine made out of tensors: plain pointers, and the tensors that they point
// into.
#pragma once

#include "ptyche/engine/cpu/loss.h"
#include "ptyche/engine/loss.h"

namespace ptyche {

/// What the kernels read and write, as contiguous tensors of one precision. `transmission` is the
/// patches or the whole object.
template <class T>
struct FusedCall {
  at::Tensor transmission, probe, background, counts, mask, weight, transfer;
  at::Tensor transmission_gradient, probe_gradient, background_gradient, position_gradient;
  cpu::LossInputs<T> inputs;
};

/// The arguments of group_loss, checked; `merged` undefined: of object_loss. A background without
/// numbers is none. With `gradient` there are tensors for what comes back.
template <class T>
FusedCall<T> make_fused_call(const at::Tensor& transmission, const at::Tensor& merged,
                             const at::Tensor& probe, const CanvasLayout& layout,
                             const Measured& measured, const LossOptions& options, bool gradient);

extern template FusedCall<float> make_fused_call(const at::Tensor&, const at::Tensor&,
                                                 const at::Tensor&, const CanvasLayout&,
                                                 const Measured&, const LossOptions&, bool);
extern template FusedCall<double> make_fused_call(const at::Tensor&, const at::Tensor&,
                                                  const at::Tensor&, const CanvasLayout&,
                                                  const Measured&, const LossOptions&, bool);

}  // namespace ptyche
