// Functions of the loss's formulas, one vector at a time.
#pragma once

#include "ptyche/engine/cpu/simd.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// log(1 - share), taken of the share itself near 0, not of the rounded difference: the Poisson
/// loss's terms cancel there. log(1 + z) = z - z^2 / 2 + z^3 q(z), q fitted on [sqrt(1/2) - 1,
/// sqrt(2) - 1] so that what follows z is right to 3e-6 of z^2 / 2.
inline Vector<float> log_one_minus(Vector<float> share) {
  using V = Vector<float>;
  using I = Simd<float>::Index;
  constexpr float q[] = {0.333344668F,  -0.249871194F, 0.199124828F,
                         -0.170527816F, 0.161305308F,  -0.106660314F};
  constexpr float log2 = 0.693147181F;
  const I bits = reinterpret_cast<I>(1.0F - share);
  const I exponent = (bits - 0x3f3504f3) >> 23;
  const V mantissa = reinterpret_cast<V>(bits - (exponent << 23)) - 1.0F;
  const V z = exponent == 0 ? -share : mantissa, square = z * z;
  const V even = (q[4] * square + q[2]) * square + q[0];
  const V odd = (q[5] * square + q[3]) * square + q[1];
  const V series = odd * z + even;
  const V tail = square * (z * series - 0.5F);  // log(1 + z) - z
  return __builtin_convertvector(exponent, V) * log2 + z + tail;
}

inline Vector<double> log_one_minus(Vector<double> share) {
  Vector<double> logarithm;
  for (int i = 0; i < kLanes<double>; ++i) logarithm[i] = __builtin_log1p(-share[i]);
  return logarithm;
}

template <class T>
inline Vector<T> root(Vector<T> x) {
  Vector<T> y;
  for (int i = 0; i < kLanes<T>; ++i)
    y[i] = sizeof(T) == 4 ? __builtin_sqrtf(x[i]) : __builtin_sqrt(x[i]);
  return y;
}

/// Math of formulas.h on registers.
template <class T>
struct VectorMath {
  using V = Vector<T>;
  static V root(V x) { return PTYCHE_ISA::root<T>(x); }
  static V sign(V x) {
    const V one = broadcast<T>(1), none = broadcast<T>(0);
    return x > 0 ? one : (x < 0 ? -one : none);
  }
  static V magnitude(V x) { return x * sign(x); }
  static V log_quotient(V excess, V expected, V) { return log_one_minus(excess / expected); }
};

}  // namespace ptyche::cpu::PTYCHE_ISA
