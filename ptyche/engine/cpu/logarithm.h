// The logarithm inside the Poisson loss, one vector at a time.
#pragma once

#include "ptyche/engine/cpu/simd.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// I - n - (n + e) log((I + e) / (n + e)) = excess + raised log(1 - share), where the logarithm is
/// taken of the share itself near I = n, not of the rounded ratio: the terms cancel there.
/// log(1 + z) = z - z^2 / 2 + z^3 q(z), q fitted on [sqrt(1/2) - 1, sqrt(2) - 1] so
/// that what follows z is right to 3e-6 of z^2 / 2.
///   excess  I - n
///   share   (I - n) / (I + e)
///   raised  n + e
inline Vector<float> poisson_terms(Vector<float> excess, Vector<float> share,
                                   Vector<float> raised) {
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
  return excess + raised * (__builtin_convertvector(exponent, V) * log2 + z + tail);
}

inline Vector<double> poisson_terms(Vector<double> excess, Vector<double> share,
                                    Vector<double> raised) {
  Vector<double> terms;
  for (int i = 0; i < kLanes<double>; ++i)
    terms[i] = excess[i] + raised[i] * __builtin_log1p(-share[i]);
  return terms;
}

template <class T>
inline Vector<T> root(Vector<T> x) {
  Vector<T> y;
  for (int i = 0; i < kLanes<T>; ++i)
    y[i] = sizeof(T) == 4 ? __builtin_sqrtf(x[i]) : __builtin_sqrt(x[i]);
  return y;
}

}  // namespace ptyche::cpu::PTYCHE_ISA
