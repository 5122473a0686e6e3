// How well expected counts describe measured ones: the sums over a pattern's pixels whose quotients
// are its scores.
#pragma once

#include "ptyche/engine/cpu/detector.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// x - log(quotient), x = quotient - 1, of which n times is half of the Poisson deviance of n
/// counts where n quotient are expected; taken of x itself where that is small, for its terms
/// cancel there.
template <class T>
inline Vector<T> less_its_logarithm(Vector<T> quotient, Vector<T> x) {
  if constexpr (sizeof(T) == 4) {
    const LogParts parts = log_parts(quotient, x);
    const Vector<T> far = x - parts.logarithm();
    return parts.exponent == 0 ? -parts.tail : far;
  } else {
    Vector<T> less;
    for (int i = 0; i < kLanes<T>; ++i)
      less[i] = x[i] - (x[i] < -0.5 ? __builtin_log(quotient[i]) : __builtin_log1p(x[i]));
    return less;
  }
}

/// Lanes of |sqrt m - sqrt n|, sqrt n, deviance and n.
template <class T>
struct FitLanes {
  Vector<T> sums[4] = {};

  void add(Vector<T> counts, Vector<T> expected, Vector<T> mask, T least) {
    const auto counted = mask > 0;
    const Vector<T> none = broadcast<T>(0), few = broadcast<T>(T(1e-20)),
                    floor = broadcast<T>(least);
    const Vector<T> light = expected < none ? none : expected;  // NaN stays NaN
    const Vector<T> mean = expected < floor ? floor : expected;
    const Vector<T> amplitude = root<T>(counts);
    // Of hardly any count the quotient is infinite, and not taken.
    const Vector<T> of_counts =
        counts * less_its_logarithm<T>(mean / counts, (mean - counts) / counts);
    const Vector<T> deviance = 2 * (counts > few ? of_counts : mean);
    sums[0] += where<T>(counted, VectorMath<T>::magnitude(root<T>(light) - amplitude));
    sums[1] += where<T>(counted, amplitude);
    sums[2] += where<T>(counted, deviance);
    sums[3] += where<T>(counted, counts);
  }
};

/// See Kernels::fit_sums.
template <class T>
void fit_sums(const T* counts, const T* expected, const T* mask, std::int64_t pixels, T least,
              double* sums) {
  constexpr std::int64_t kRun = 4096;  // pixels whose sums are of T
  for (int i = 0; i < 4; ++i) sums[i] = 0;
  for (std::int64_t run = 0; run < pixels; run += kRun) {
    const std::int64_t end = run + kRun < pixels ? run + kRun : pixels;
    FitLanes<T> lanes;
    for (std::int64_t at = run; at < end; at += kLanes<T>)
      lanes.add(load_some(counts + at, end - at), load_some(expected + at, end - at),
                load_some(mask + at, end - at), least);
    for (int i = 0; i < 4; ++i) sums[i] += lane_sum<T>(lanes.sums[i]);
  }
}

}  // namespace ptyche::cpu::PTYCHE_ISA
