// The tables of all instruction sets that this build holds.
#pragma once

#include "ptyche/engine/cpu/loss_task.h"

namespace ptyche::cpu {

extern const Kernels<float> kernels_plain_float, kernels_avx2_float, kernels_avx512_float;
extern const Kernels<double> kernels_plain_double, kernels_avx2_double, kernels_avx512_double;

}  // namespace ptyche::cpu
