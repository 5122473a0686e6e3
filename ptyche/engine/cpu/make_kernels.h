// The table of one instruction set; included by one source file for each.
#pragma once

#include "ptyche/engine/cpu/amplitude_projection.h"
#include "ptyche/engine/cpu/difference_map.h"
#include "ptyche/engine/cpu/merge.h"
#include "ptyche/engine/cpu/pattern.h"
#include "ptyche/engine/cpu/pie.h"

namespace ptyche::cpu::PTYCHE_ISA {

template <class T>
constexpr Kernels<T> make_kernels(const char* name) {
  return {.name = name,
          .strip = kStrip<T>,
          .fft2_transposed = &fft2_transposed<T>,
          .ifft2_transposed = &ifft2_transposed<T>,
          .pattern_loss = &pattern_loss<T>,
          .moved_weight = &moved_weight<T>,
          .merge_patch = &merge_patch<T>,
          .normalise = &normalise<T>,
          .normalise_backward = &normalise_backward<T>,
          .patch_gradient = &patch_gradient<T>,
          .single_patch_forward = &single_patch_forward<T>,
          .single_patch_backward = &single_patch_backward<T>,
          .load_amplitudes = &load_amplitudes<T>,
          .pie = &pie<T>,
          .difference_map_step = &difference_map_step<T>,
          .sum_probe = &sum_probe<T>,
          .add_update = &add_update<T>,
          .step_object = &step_object<T>,
          .add_scaled = &add_scaled<T>,
          .single_pattern_step = &single_pattern_step<T>};
}

}  // namespace ptyche::cpu::PTYCHE_ISA
