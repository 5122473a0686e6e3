// What the projection solvers share: the way to the detector and back with the measured amplitudes
// put in there, and steps of an object from sums over patterns.
#pragma once

#include "ptyche/engine/cpu/pattern_kernel.h"
#include "ptyche/engine/cpu/projection_task.h"

namespace ptyche::cpu::PTYCHE_ISA {

template <class T>
inline Vector<T> larger(Vector<T> a, Vector<T> b) {
  return a > b ? a : b;
}

template <class T>
inline T lane_max(Vector<T> values) {
  T most = values[0];
  for (int i = 1; i < kLanes<T>; ++i) most = values[i] > most ? values[i] : most;
  return most;
}

/// Counts (row, col) of one pattern -> square roots, at the detector.
template <class T>
void take_amplitudes(const LossTask<T>& task, const T* counts, T* to) {
  for (std::int64_t first = 0; first < task.stride; first += kStrip<T>)
    take_counts(task, counts, first, to + first * task.size);
  for (std::int64_t i = 0; i < task.size * task.stride; i += kLanes<T>)
    store(to + i, root<T>(load(to + i)));
}

/// sqrt(n / I) - 1 where pixels count, else 0, and the misfit of the amplitudes.
template <class T>
inline Vector<T> amplitude_excess(const LossTask<T>& task, Vector<T> intensity, const T* amplitudes,
                                  std::int64_t at, Vector<T>& misfit) {
  if (task.background) intensity += load(task.background + at);
  const Vector<T> modelled = root<T>(intensity);
  // Not a product with 0: what is masked may be NaN.
  const auto counted = load(task.mask + at) > 0;
  const Vector<T> missing = counted ? load(amplitudes + at) - modelled : Vector<T>{};
  misfit += missing * missing;
  return missing / (modelled + task.floor);
}

/// For the strip first.. of the waves (modes, 2) planes at the detector: all modes are brought to
/// the measured amplitude in proportion (Thibault & Menzel, Nature 494, 68 (2013)); the waves
/// become N^2 times smaller, as two unscaled transforms ask for, and with Change the difference
/// alone is left.
template <class T, bool Change>
inline double project_strip(const LossTask<T>& task, T* waves, const T* amplitudes,
                            std::int64_t first, T trust) {
  const T scale = 1 / static_cast<T>(task.size * task.size);
  const std::int64_t begin = first * task.size, end = begin + kStrip<T> * task.size;
  const std::int64_t plane = task.size * task.stride;
  Vector<T> misfit{};
  for (std::int64_t at = begin; at < end; at += kLanes<T>) {
    Vector<T> intensity{};
    for (std::int64_t i = 0; i < 2 * task.modes; ++i) {
      const Vector<T> part = load(waves + i * plane + at);
      intensity += part * part;
    }
    const Vector<T> excess = amplitude_excess(task, intensity * scale, amplitudes, at, misfit);
    const Vector<T> factor = Change ? scale * excess : scale + scale * trust * excess;
    for (std::int64_t i = 0; i < 2 * task.modes; ++i) {
      T* part = waves + i * plane + at;
      store(part, load(part) * factor);
    }
  }
  return lane_sum<T>(misfit);
}

/// Second half of the transform, projection, first half of the way back. Returns the misfit.
template <class T, bool Change>
inline double project(const LossTask<T>& task, const ThreadState<T>& state, const T* amplitudes,
                      T trust = 1) {
  double misfit = 0;
  at_detector(task, state, true, nullptr, [&](T* waves, std::int64_t first) {
    misfit += project_strip<T, Change>(task, waves, amplitudes, first, trust);
  });
  return misfit;
}

/// Patch, and where the probe is moved its modes, into the thread's planes.
template <class T>
inline void look(const LossTask<T>& task, const Place& place, const Canvas<T>& object,
                 ThreadState<T>& state) {
  const Spot<T> spot(place);
  for (std::int64_t first = 0; first < task.stride; first += kStrip<T>)
    see_strip(task, object, spot, first, state.patch);
  if (task.moved_probe) move_probe(task, place, state);
}

/// conj(probe) change and |probe|^2 into the framed planes at `at`; written for the first mode,
/// else added. Returns the power.
template <class T, bool First>
inline Vector<T> share_object(const Share<T>& share, std::int64_t at, Complex<T> probe,
                              Complex<T> change) {
  const Complex<T> sum = conjugate_product(probe, change);
  const Vector<T> power = probe.re * probe.re + probe.im * probe.im;
  const Vector<T> total = First ? power : load(share.power + at) + power;
  store(share.object.re + at, First ? sum.re : load(share.object.re + at) + sum.re);
  store(share.object.im + at, First ? sum.im : load(share.object.im + at) + sum.im);
  store(share.power + at, total);
  return total;
}

/// Second half of the transform of a moved probe's change, and the move undone: `wave` -> `to`, the
/// change of the probe's spectrum.
template <class T, bool Add>
inline void unmove(const LossTask<T>& task, const ThreadState<T>& state, Planes<T> wave,
                   Planes<T> to) {
  const T scale = 1 / static_cast<T>(task.size * task.size);
  for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
    const Strip<T> strip = strip_of(wave, task.size, first);
    const Strip<T> out = strip_of(to, task.size, first);
    forward_fft(strip, task.fft);
    for (std::int64_t p = 0; p < task.size; ++p)
      for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
        const Complex<T> phase = phase_at(task, state.phases, p, first + column);
        const Complex<T> back = conjugate_product(phase, strip.get(p, column));
        const Complex<T> scaled = {back.re * scale, back.im * scale};
        out.set(p, column, Add ? out.get(p, column) + scaled : scaled);
      }
  }
}

/// Adds a share to rows first..last-1 of the sums (re, im, weight).
template <class T>
void add_share(const LossTask<T>& task, const Place& place, const Share<T>& share,
               const Canvas<T>& sums, std::int64_t first, std::int64_t last) {
  const Spot<T> spot(place);
  const std::int64_t size = task.size, frame = task.frame, stride = sums.stride;
  spread<T>(share.object.re, frame, size, spot, sums.re, stride, first, last);
  spread<T>(share.object.im, frame, size, spot, sums.im, stride, first, last);
  spread<T>(share.power, frame, size, spot, sums.weight, stride, first, last);
}

/// ObjectStep on rows first..last-1, columns col..col+count-1 (rounded up to whole vectors); the
/// sums there become 0, so that a pixel is not moved twice.
template <class T>
void step_object(const Canvas<T>& object, const Canvas<T>& sums, const ObjectStep<T>& step,
                 std::int64_t first, std::int64_t last, std::int64_t col, std::int64_t count) {
  const Vector<T> strongest = broadcast(step.strongest), none{};
  for (std::int64_t row = first; row < last; ++row)
    for (std::int64_t i = row * sums.stride + col; i < row * sums.stride + col + count;
         i += kLanes<T>) {
      const Vector<T> power = load(sums.weight + i);
      const Vector<T> factor = step.step / ((1 - step.regularisation) * power +
                                            step.regularisation * larger<T>(power, strongest));
      store(object.re + i, load(object.re + i) + factor * load(sums.re + i));
      store(object.im + i, load(object.im + i) + factor * load(sums.im + i));
      store(sums.re + i, none);
      store(sums.im + i, none);
      store(sums.weight + i, none);
    }
}

/// to[i] += factor from[i]
template <class T>
void add_scaled(T* to, const T* from, T factor, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += kLanes<T>)
    store(to + i, load(to + i) + factor * load(from + i));
}

}  // namespace ptyche::cpu::PTYCHE_ISA
