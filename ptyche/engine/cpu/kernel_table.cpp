// The table of one instruction set. Compiled once for each, with PTYCHE_ISA its name and
// PTYCHE_VECTOR_BYTES the size of its registers (cmake/Options.cmake).
#include "ptyche/engine/cpu/fit_sums.h"
#include "ptyche/engine/cpu/merge.h"
#include "ptyche/engine/cpu/norm_gelu.h"
#include "ptyche/engine/cpu/pattern.h"
#include "ptyche/engine/cpu/pattern_projections.h"
#include "ptyche/engine/cpu/tilts.h"

namespace ptyche::cpu::PTYCHE_ISA {

template <class T>
constexpr Kernels<T> make_kernels(const char* name) {
  return {.name = name,
          .strip = kStrip<T>,
          .fft2_transposed = &fft2_transposed<T>,
          .ifft2_transposed = &ifft2_transposed<T>,
          .pattern_loss = &pattern_loss<T>,
          .pattern_intensity = &pattern_intensity<T>,
          .pattern_tilt = &pattern_tilt<T>,
          .fit_sums = &fit_sums<T>,
          .moved_weight = &moved_weight<T>,
          .merge_patch = &merge_patch<T>,
          .normalise = &normalise<T>,
          .normalise_backward = &normalise_backward<T>,
          .patch_gradient = &patch_gradient<T>,
          .single_patch_forward = &single_patch_forward<T>,
          .single_patch_backward = &single_patch_backward<T>,
          .load_amplitudes = &load_amplitudes<T>,
          .order_bytes = &order_counts<T, std::uint8_t>,
          .order_shorts = &order_counts<T, std::int16_t>,
          .pie = &pie<T>,
          .difference_map_step = &difference_map_step<T>,
          .sum_probe = &sum_probe<T>,
          .add_update = &add_update<T>,
          .step_object = &step_object<T>,
          .add_scaled = &add_scaled<T>,
          .single_pattern_step = &single_pattern_step<T>};
}

}  // namespace ptyche::cpu::PTYCHE_ISA

#define PTYCHE_JOIN(kind, isa, type) kind##_##isa##_##type
#define PTYCHE_TABLE(kind, isa, type) PTYCHE_JOIN(kind, isa, type)
#define PTYCHE_NAME(isa) PTYCHE_TEXT(isa)
#define PTYCHE_TEXT(isa) #isa

namespace ptyche::cpu {

const Kernels<float> PTYCHE_TABLE(kernels, PTYCHE_ISA,
                                  float) = PTYCHE_ISA::make_kernels<float>(PTYCHE_NAME(PTYCHE_ISA));
const Kernels<double> PTYCHE_TABLE(kernels, PTYCHE_ISA, double) =
    PTYCHE_ISA::make_kernels<double>(PTYCHE_NAME(PTYCHE_ISA));
const NormKernels<float> PTYCHE_TABLE(norm, PTYCHE_ISA,
                                      float) = PTYCHE_ISA::make_norm_kernels<float>();
const NormKernels<Bfloat16> PTYCHE_TABLE(norm, PTYCHE_ISA,
                                         bfloat16) = PTYCHE_ISA::make_norm_kernels<Bfloat16>();

}  // namespace ptyche::cpu
