// The table of one instruction set; included by one source file for each.
#pragma once

#include "ptyche/engine/cpu/alone_kernel.h"
#include "ptyche/engine/cpu/merge_kernel.h"
#include "ptyche/engine/cpu/pattern_kernel.h"
#include "ptyche/engine/cpu/pie_kernel.h"
#include "ptyche/engine/cpu/reflect_kernel.h"
#include "ptyche/engine/cpu/single_pattern_kernel.h"

namespace ptyche::cpu::PTYCHE_ISA {

template <class T>
constexpr Kernels<T> make_kernels(const char* name) {
  return {.name = name,
          .strip = kStrip<T>,
          .to_turned = &to_turned<T>,
          .to_natural = &to_natural<T>,
          .pattern = &pattern<T>,
          .moved_weight = &moved_weight<T>,
          .merge_patch = &merge_patch<T>,
          .divide = &divide<T>,
          .undivide = &undivide<T>,
          .patch_gradient = &patch_gradient<T>,
          .place_alone = &place_alone<T>,
          .take_alone = &take_alone<T>,
          .take_amplitudes = &take_amplitudes<T>,
          .pie = &pie<T>,
          .reflect = &reflect<T>,
          .sum_probe = &sum_probe<T>,
          .add_share = &add_share<T>,
          .step_object = &step_object<T>,
          .add_scaled = &add_scaled<T>,
          .step_alone = &step_alone<T>};
}

}  // namespace ptyche::cpu::PTYCHE_ISA
