// One call of the fused engine made out of tensors: plain pointers, and the tensors that they point
// into.
#pragma once

#include <array>
#include <vector>

#include "ptyche/engine/cpu/loss.h"
#include "ptyche/engine/loss.h"

namespace ptyche {

/// The arguments of group_loss, checked, for the loss alone; `merged` undefined: of object_loss. A
/// background without numbers is none; without counts, for what is expected alone. `kept` gets the
/// tensors, contiguous and of one precision, that the pointers point into.
template <class T>
cpu::LossInputs<T> fused_inputs(const at::Tensor& transmission, const at::Tensor& merged,
                                const at::Tensor& probe, const CanvasLayout& layout,
                                const Measured& measured, const LossOptions& options,
                                std::vector<at::Tensor>& kept);

/// Asks for gradients too, and gives where they go: by transmission, probe, background (undefined
/// where there is none), position, (patterns, 4) as LossInputs says, and intensity, (patterns)
/// float64.
template <class T>
std::array<at::Tensor, 5> take_gradients(cpu::LossInputs<T>& inputs);

}  // namespace ptyche
