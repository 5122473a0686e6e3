// At the detector: waves of all modes -> expected counts -> loss, and the loss's gradient by the
// waves.
#pragma once

#include "ptyche/engine/cpu/logarithm.h"
#include "ptyche/engine/cpu/square_fft.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// Loss and its derivative by the intensity.
template <class T, LossKind Kind>
inline void compare(Vector<T> intensity, Vector<T> counts, T floor, Vector<T>& loss,
                    Vector<T>& slope) {
  if constexpr (Kind == LossKind::poisson) {
    const Vector<T> excess = intensity - counts;
    slope = excess / (intensity + floor);
    loss = poisson_terms(excess, slope, counts + floor);
  } else {
    const Vector<T> amplitude = root<T>(intensity + floor);
    const Vector<T> misfit = amplitude - root<T>(counts + floor);
    if constexpr (Kind == LossKind::amplitude_square) {
      loss = misfit * misfit;
      slope = misfit / amplitude;
    } else {
      const Vector<T> one = broadcast<T>(1), none = broadcast<T>(0);
      const Vector<T> sign = misfit > 0 ? one : (misfit < 0 ? -one : none);
      loss = misfit * sign;
      slope = static_cast<T>(0.5) * sign / amplitude;
    }
  }
}

template <class T>
inline Vector<T> power_at(const T* re, std::int64_t plane) {
  const Vector<T> real = load(re), imaginary = load(re + plane);
  return real * real + imaginary * imaginary;
}

/// One vector of detector pixels: waves of all modes -> loss; the waves become the gradient's,
/// d loss / d wave = 2 d loss / d I wave. Returns the loss.
template <class T, LossKind Kind, bool OneMode>
inline Vector<T> detect_pixels(const LossTask<T>& task, T* waves, const ThreadState<T>& state,
                               std::int64_t at, Vector<T> counts, T scale) {
  const std::int64_t modes = OneMode ? 1 : task.modes, plane = task.size * task.stride;
  T* wave = waves + at;
  Vector<T> intensity = scale * power_at(wave, plane);
  for (std::int64_t mode = 1; mode < modes; ++mode)
    intensity += scale * power_at(wave + 2 * mode * plane, plane);
  if (task.background) intensity += load(task.background + at);
  Vector<T> loss, slope;
  compare<T, Kind>(intensity, counts, task.floor, loss, slope);
  const Vector<T> mask = load(task.mask + at);
  slope *= mask;
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
  return loss * mask;
}

/// For the strip first.. of the waves (modes, 2) planes at the detector; its counts are in
/// state.counts.
template <class T, LossKind Kind, bool OneMode>
inline void detect_strip(const LossTask<T>& task, T* waves, ThreadState<T>& state,
                         std::int64_t first) {
  const T scale = 1 / static_cast<T>(task.size * task.size);
  const std::int64_t begin = first * task.size, end = begin + kStrip<T> * task.size;
  Vector<T> loss{};
  for (std::int64_t at = begin; at < end; at += kLanes<T>)
    loss += detect_pixels<T, Kind, OneMode>(task, waves, state, at, load(state.counts + at - begin),
                                            scale);
  state.loss += lane_sum<T>(loss);
}

template <class T, LossKind Kind>
inline void detect_kind(const LossTask<T>& task, T* waves, ThreadState<T>& state,
                        std::int64_t first) {
  if (task.modes == 1)
    detect_strip<T, Kind, true>(task, waves, state, first);
  else
    detect_strip<T, Kind, false>(task, waves, state, first);
}

template <class T>
inline void detect(const LossTask<T>& task, T* waves, ThreadState<T>& state, std::int64_t first) {
  switch (task.kind) {
    case LossKind::poisson:
      return detect_kind<T, LossKind::poisson>(task, waves, state, first);
    case LossKind::amplitude_square:
      return detect_kind<T, LossKind::amplitude_square>(task, waves, state, first);
    case LossKind::amplitude_absolute:
      return detect_kind<T, LossKind::amplitude_absolute>(task, waves, state, first);
  }
}

}  // namespace ptyche::cpu::PTYCHE_ISA
