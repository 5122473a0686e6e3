#define PTYCHE_ISA avx512
#define PTYCHE_VECTOR_BYTES 64
#include "ptyche/engine/cpu/kernels.h"
#include "ptyche/engine/cpu/make_kernels.h"

namespace ptyche::cpu {

const Kernels<float> kernels_avx512_float = avx512::make_kernels<float>("avx512");
const Kernels<double> kernels_avx512_double = avx512::make_kernels<double>("avx512");

}  // namespace ptyche::cpu
