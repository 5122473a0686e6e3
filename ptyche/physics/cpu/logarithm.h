// The logarithm inside the Poisson loss, one vector at a time.
#pragma once

#include "ptyche/physics/cpu/simd.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// I - n - (n + e) log((I + e) / (n + e)) without the cancellation that the terms suffer near I =
/// n: with z = (n - I) / (I + e) it is e' z^2 - (n + e) (z - log(1 + z)), e' = I + e, and log(1 +
/// z) = z - z^2 / 2 + z^3 q(z), q fitted on [sqrt(1/2) - 1, sqrt(2) - 1] to 4e-9.
///   excess  I - n
///   share   (I - n) / (I + e)
///   raised  n + e
inline Vector<float> poisson_terms(Vector<float> excess, Vector<float> share,
                                   Vector<float> raised) {
  using V = Vector<float>;
  using I = Simd<float>::Index;
  constexpr float q[] = {0.333333312F,  -0.24999989F, 0.200007075F,  -0.166684802F, 0.142499365F,
                         -0.124110507F, 0.116615111F, -0.115712007F, 0.071497539F};
  constexpr float log2 = 0.693147181F;
  const V ratio = 1.0F - share;
  const I bits = reinterpret_cast<I>(ratio);
  const I exponent = (bits - 0x3f3504f3) >> 23;
  const V mantissa = reinterpret_cast<V>(bits - (exponent << 23)) - 1.0F;
  const I near = exponent == 0;
  const V z = near ? -share : mantissa;
  V series = broadcast<float>(q[8]);
  for (int i = 7; i >= 0; --i) series = series * z + q[i];
  const V tail = z * z * (0.5F - z * series);  // z - log(1 + z)
  const V scale = __builtin_convertvector(exponent, V) * log2;
  return near ? excess * share - raised * tail : excess + raised * (scale + z - tail);
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
