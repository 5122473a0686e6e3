// The logarithm inside the Poisson loss, one vector at a time.
#pragma once

#include "ptyche/physics/cpu/simd.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// I - n - (n + e) log((I + e) / (n + e)) = excess + raised log(1 - share), where the logarithm is
/// taken of the share itself near I = n, not of the rounded ratio: the terms cancel there.
/// log(1 + z) = z - z^2 / 2 + z^3 q(z), q fitted on [sqrt(1/2) - 1, sqrt(2) - 1] to 2e-8.
///   excess  I - n
///   share   (I - n) / (I + e)
///   raised  n + e
inline Vector<float> poisson_terms(Vector<float> excess, Vector<float> share,
                                   Vector<float> raised) {
  using V = Vector<float>;
  using I = Simd<float>::Index;
  constexpr float q[] = {0.333333286F, -0.250002965F, 0.200014686F, -0.166422476F,
                         0.142021738F, -0.12972239F,  0.127123077F, -0.0810155833F};
  constexpr float log2 = 0.693147181F;
  const I bits = reinterpret_cast<I>(1.0F - share);
  const I exponent = (bits - 0x3f3504f3) >> 23;
  const V mantissa = reinterpret_cast<V>(bits - (exponent << 23)) - 1.0F;
  const V z = exponent == 0 ? -share : mantissa, square = z * z;
  V even = q[6] * square + q[4], odd = q[7] * square + q[5];
  even = even * square + q[2];
  odd = odd * square + q[3];
  even = even * square + q[0];
  odd = odd * square + q[1];
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
