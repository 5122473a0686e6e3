#define PTYCHE_ISA plain
#define PTYCHE_VECTOR_BYTES 16
#include "ptyche/engine/cpu/kernels.h"
#include "ptyche/engine/cpu/make_kernels.h"

namespace ptyche::cpu {

const Kernels<float> kernels_plain_float = plain::make_kernels<float>("plain");
const Kernels<double> kernels_plain_double = plain::make_kernels<double>("plain");

}  // namespace ptyche::cpu
