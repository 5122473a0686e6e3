// At the detector: waves of all modes -> expected counts -> loss, and the loss's gradient by the
// waves; the functions that its formulas need.
#pragma once

#include "ptyche/engine/cpu/fft.h"
#include "ptyche/engine/cpu/simd.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// log(1 - share), taken of the share itself near 0, not of the rounded difference: the Poisson
/// loss's terms cancel there. log(1 + z) = z - z^2 / 2 + z^3 q(z), q fitted on [sqrt(1/2) - 1,
/// sqrt(2) - 1] so that what follows z is right to 3e-6 of z^2 / 2.
[[gnu::always_inline]] inline Vector<float> log_one_minus(Vector<float> share) {
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

[[gnu::always_inline]] inline Vector<double> log_one_minus(Vector<double> share) {
  Vector<double> logarithm;
  for (int i = 0; i < kLanes<double>; ++i) logarithm[i] = __builtin_log1p(-share[i]);
  return logarithm;
}

template <class T>
[[gnu::always_inline]] inline Vector<T> root(Vector<T> x) {
  Vector<T> y;
  for (int i = 0; i < kLanes<T>; ++i)
    y[i] = sizeof(T) == 4 ? __builtin_sqrtf(x[i]) : __builtin_sqrt(x[i]);
  return y;
}

/// Math of formulas.h on registers.
template <class T>
struct VectorMath {
  using V = Vector<T>;
  PTYCHE_FORMULA static V root(V x) { return PTYCHE_ISA::root<T>(x); }
  PTYCHE_FORMULA static V sign(V x) {
    const V one = broadcast<T>(1), none = broadcast<T>(0);
    return x > 0 ? one : (x < 0 ? -one : none);
  }
  PTYCHE_FORMULA static V magnitude(V x) { return x * sign(x); }
  PTYCHE_FORMULA static V log_quotient(V excess, V expected, V) {
    return log_one_minus(excess / expected);
  }
};

template <class T>
inline Vector<T> power_at(const T* re, std::int64_t plane) {
  const Vector<T> real = load(re), imaginary = load(re + plane);
  return real * real + imaginary * imaginary;
}

/// For the strip first.. of the waves (modes, 2) planes at the detector, whose counts are in
/// scratch.counts: adds the loss to scratch.loss and d loss / d intensity to the background's
/// gradient; the waves become the gradient's, d loss / d wave = 2 d loss / d intensity wave.
template <class T>
inline void detector_loss(const KernelContext<T>& context, T* waves, std::int64_t first,
                          ThreadScratch<T>& scratch) {
  const std::int64_t plane = context.size * context.stride;
  const std::int64_t begin = first * context.size, end = begin + kStrip<T> * context.size;
  const T scale = 1 / static_cast<T>(context.size * context.size);
  Vector<T> loss_sum{};
  const auto compare = [&](auto formula, auto one_mode) {
    const std::int64_t modes = decltype(one_mode)::value ? 1 : context.modes;
    for (std::int64_t at = begin; at < end; at += kLanes<T>) {
      T* wave = waves + at;
      Vector<T> intensity = scale * power_at(wave, plane), slope;
      for (std::int64_t mode = 1; mode < modes; ++mode)
        intensity += scale * power_at(wave + 2 * mode * plane, plane);
      if (context.background) intensity += load(context.background + at);
      const Vector<T> counts = load(scratch.counts + at - begin);
      const Vector<T> loss =
          formula.template value<VectorMath<T>>(intensity, counts, context.floor, &slope);
      // Not a product with 0: what is masked may be NaN.
      const auto counted = load(context.mask + at) > 0;
      slope = counted ? slope : Vector<T>{};
      loss_sum += counted ? loss : Vector<T>{};
      if (context.background) {
        T* background = scratch.background_gradient + at;
        store(background, load(background) + slope);
      }
      const Vector<T> factor = 2 * scale * slope;
      for (std::int64_t mode = 0; mode < modes; ++mode) {
        T *re = wave + 2 * mode * plane, *im = re + plane;
        store(re, load(re) * factor);
        store(im, load(im) * factor);
      }
    }
  };
  with_formula(context.kind, [&](auto formula) {
    context.modes == 1 ? compare(formula, std::true_type()) : compare(formula, std::false_type());
  });
  scratch.loss += lane_sum<T>(loss_sum);
}

}  // namespace ptyche::cpu::PTYCHE_ISA
