#define PTYCHE_ISA avx2
#define PTYCHE_VECTOR_BYTES 32
#include "ptyche/engine/cpu/kernels.h"
#include "ptyche/engine/cpu/make_kernels.h"

namespace ptyche::cpu {

const Kernels<float> kernels_avx2_float = avx2::make_kernels<float>("avx2");
const Kernels<double> kernels_avx2_double = avx2::make_kernels<double>("avx2");

}  // namespace ptyche::cpu
