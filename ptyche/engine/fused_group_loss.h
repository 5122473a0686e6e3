// The fused engine behind one autograd function: loss and all gradients in one call of the kernels.
#pragma once

#include "ptyche/engine/group_loss.h"

namespace ptyche {

/// group_loss and object_loss of the fused engine; arguments checked by them.
GroupLoss fused_group_loss(const at::Tensor& patches, const at::Tensor& merged,
                           const at::Tensor& probe, const CanvasLayout& layout,
                           const Measured& measured, const LossOptions& options);
at::Tensor fused_object_loss(const at::Tensor& object, const at::Tensor& probe,
                             const CanvasLayout& layout, const Measured& measured,
                             const LossOptions& options);

}  // namespace ptyche
