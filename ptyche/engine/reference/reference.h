// The reference engine: LibTorch operations, gradients by autograd; obvious before fast.
#pragma once

#include "ptyche/engine/loss.h"
#include "ptyche/engine/single_pattern.h"
#include "ptyche/engine/tilts.h"

namespace ptyche::reference {

/// group_loss and object_loss (object: undefined `merged`) of the reference engine; arguments
/// checked by them.
GroupLoss loss(const at::Tensor& transmission, const at::Tensor& merged, const at::Tensor& probe,
               const CanvasLayout& layout, const Measured& measured, const LossOptions& options);

/// single_pattern_objects of the reference engine; arguments checked by it, amplitudes in the
/// probes' precision.
at::Tensor single_pattern_objects(const at::Tensor& probes, const at::Tensor& amplitudes,
                                  const at::Tensor& mask, const SinglePatternOptions& options);

/// exit_tilts of the reference engine, for patterns of a layout that is checked.
Tilts exit_tilts(const at::Tensor& object, const at::Tensor& probe, const CanvasLayout& layout,
                 const Measured& measured);

}  // namespace ptyche::reference
