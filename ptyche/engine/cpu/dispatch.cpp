#include <cstdlib>
#include <string_view>
#include <type_traits>

#include "ptyche/engine/cpu/kernels.h"

namespace ptyche::cpu {
namespace {

enum class Isa { plain, avx2, avx512 };

Isa widest() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return Isa::avx512;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Isa::avx2 : Isa::plain;
}

/// The widest, unless PTYCHE_ISA names a narrower one.
Isa chosen() {
  const char* named = std::getenv("PTYCHE_ISA");
  const std::string_view name = named ? named : "";
  const Isa wish = name == "plain" ? Isa::plain : name == "avx2" ? Isa::avx2 : Isa::avx512;
  return wish < widest() ? wish : widest();
}

template <class T>
const Kernels<T>& table(Isa isa) {
  if constexpr (std::is_same_v<T, float>)
    return isa == Isa::avx512 ? kernels_avx512_float
           : isa == Isa::avx2 ? kernels_avx2_float
                              : kernels_plain_float;
  else
    return isa == Isa::avx512 ? kernels_avx512_double
           : isa == Isa::avx2 ? kernels_avx2_double
                              : kernels_plain_double;
}

template <class S>
const NormKernels<S>& norm_table(Isa isa) {
  if constexpr (std::is_same_v<S, float>)
    return isa == Isa::avx512 ? norm_avx512_float
           : isa == Isa::avx2 ? norm_avx2_float
                              : norm_plain_float;
  else
    return isa == Isa::avx512 ? norm_avx512_bfloat16
           : isa == Isa::avx2 ? norm_avx2_bfloat16
                              : norm_plain_bfloat16;
}

}  // namespace

template <class T>
const Kernels<T>& kernels() {
  static const Kernels<T>& found = table<T>(chosen());
  return found;
}

template <class S>
const NormKernels<S>& norm_kernels() {
  static const NormKernels<S>& found = norm_table<S>(chosen());
  return found;
}

template const NormKernels<float>& norm_kernels();
template const NormKernels<Bfloat16>& norm_kernels();
template const Kernels<float>& kernels();
template const Kernels<double>& kernels();

}  // namespace ptyche::cpu
