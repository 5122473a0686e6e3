// At the detector: waves of all modes -> expected counts -> loss, and the loss's gradient by the
// waves.
#pragma once

#include "ptyche/engine/cpu/logarithm.h"
#include "ptyche/engine/cpu/square_fft.h"

namespace ptyche::cpu::PTYCHE_ISA {

template <class T>
inline Vector<T> power_at(const T* re, std::int64_t plane) {
  const Vector<T> real = load(re), imaginary = load(re + plane);
  return real * real + imaginary * imaginary;
}

/// One vector of detector pixels: waves of all modes -> loss; the waves become the gradient's,
/// d loss / d wave = 2 d loss / d I wave. Returns the loss.
template <class T, class Formula, bool OneMode>
inline Vector<T> detect_pixels(const LossTask<T>& task, T* waves, const ThreadState<T>& state,
                               std::int64_t at, Vector<T> counts, T scale) {
  const std::int64_t modes = OneMode ? 1 : task.modes, plane = task.size * task.stride;
  T* wave = waves + at;
  Vector<T> intensity = scale * power_at(wave, plane);
  for (std::int64_t mode = 1; mode < modes; ++mode)
    intensity += scale * power_at(wave + 2 * mode * plane, plane);
  if (task.background) intensity += load(task.background + at);
  Vector<T> slope;
  const Vector<T> loss =
      Formula::template value<VectorMath<T>>(intensity, counts, task.floor, &slope);
  // Not a product with 0: what is masked may be NaN.
  const auto counted = load(task.mask + at) > 0;
  slope = counted ? slope : Vector<T>{};
  if (task.background) {
    T* background = state.background_gradient + at;
    store(background, load(background) + slope);
  }
  const Vector<T> factor = 2 * scale * slope;
  for (std::int64_t mode = 0; mode < modes; ++mode) {
    T *re = wave + 2 * mode * plane, *im = re + plane;
    store(re, load(re) * factor);
    store(im, load(im) * factor);
  }
  return counted ? loss : Vector<T>{};
}

/// For the strip first.. of the waves (modes, 2) planes at the detector; its counts are in
/// state.counts.
template <class T, class Formula, bool OneMode>
inline void detect_strip(const LossTask<T>& task, T* waves, ThreadState<T>& state,
                         std::int64_t first) {
  const T scale = 1 / static_cast<T>(task.size * task.size);
  const std::int64_t begin = first * task.size, end = begin + kStrip<T> * task.size;
  Vector<T> loss{};
  for (std::int64_t at = begin; at < end; at += kLanes<T>)
    loss += detect_pixels<T, Formula, OneMode>(task, waves, state, at,
                                               load(state.counts + at - begin), scale);
  state.loss += lane_sum<T>(loss);
}

template <class T>
inline void detect(const LossTask<T>& task, T* waves, ThreadState<T>& state, std::int64_t first) {
  with_formula(task.kind, [&](auto formula) {
    using Formula = decltype(formula);
    if (task.modes == 1)
      detect_strip<T, Formula, true>(task, waves, state, first);
    else
      detect_strip<T, Formula, false>(task, waves, state, first);
  });
}

}  // namespace ptyche::cpu::PTYCHE_ISA
