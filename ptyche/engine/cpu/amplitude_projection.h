// What the projection solvers share: the way to the detector and back with the measured amplitudes
// put in there, steps of an object from sums over patterns, and object steps of one pattern alone.
#pragma once

#include "ptyche/engine/cpu/kernels.h"
#include "ptyche/engine/cpu/pattern.h"

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
void load_amplitudes(const KernelContext<T>& context, const T* counts, T* to) {
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>)
    load_counts(context, counts, first, to + first * context.size);
  for (std::int64_t i = 0; i < context.size * context.stride; i += kLanes<T>)
    store(to + i, root<T>(load(to + i)));
}

/// sqrt(n / I) - 1 where pixels count, else 0, and the misfit of the amplitudes.
template <class T>
inline Vector<T> amplitude_excess(const KernelContext<T>& context, Vector<T> intensity,
                                  const T* amplitudes, std::int64_t at, Vector<T>& misfit) {
  if (context.background) intensity += load(context.background + at);
  const Vector<T> modelled = root<T>(intensity);
  // Not a product with 0: what is masked may be NaN.
  const auto counted = load(context.mask + at) > 0;
  const Vector<T> missing = counted ? load(amplitudes + at) - modelled : Vector<T>{};
  misfit += missing * missing;
  return missing / (modelled + context.floor);
}

/// For the strip first.. of the waves (modes, 2) planes at the detector: all modes are brought to
/// the measured amplitude in proportion (Thibault & Menzel, Nature 494, 68 (2013)); the waves
/// become N^2 times smaller, as two unscaled transforms ask for, and with Change the difference
/// alone is left.
template <class T, bool Change>
inline double project_strip(const KernelContext<T>& context, T* waves, const T* amplitudes,
                            std::int64_t first, T trust) {
  const T scale = 1 / static_cast<T>(context.size * context.size);
  const std::int64_t begin = first * context.size, end = begin + kStrip<T> * context.size;
  const std::int64_t plane = context.size * context.stride;
  Vector<T> misfit{};
  for (std::int64_t at = begin; at < end; at += kLanes<T>) {
    Vector<T> intensity{};
    for (std::int64_t i = 0; i < 2 * context.modes; ++i) {
      const Vector<T> part = load(waves + i * plane + at);
      intensity += part * part;
    }
    const Vector<T> excess = amplitude_excess(context, intensity * scale, amplitudes, at, misfit);
    const Vector<T> factor = Change ? scale * excess : scale + scale * trust * excess;
    for (std::int64_t i = 0; i < 2 * context.modes; ++i) {
      T* part = waves + i * plane + at;
      store(part, load(part) * factor);
    }
  }
  return lane_sum<T>(misfit);
}

/// Second half of the transform, projection, first half of the way back. Returns the misfit.
template <class T, bool Change>
inline double project(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                      const T* amplitudes, T trust = 1) {
  double misfit = 0;
  at_detector(context, scratch, true, nullptr, [&](T* waves, std::int64_t first) {
    misfit += project_strip<T, Change>(context, waves, amplitudes, first, trust);
  });
  return misfit;
}

/// Patch, and where the probe is moved its modes, into the thread's planes.
template <class T>
inline void load_patch(const KernelContext<T>& context, const PatchPosition& position,
                       const Canvas<T>& object, ThreadScratch<T>& scratch) {
  const BilinearPatch<T> bilinear(position);
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>)
    gather_strip(context, object, bilinear, first, scratch.patch);
  if (context.moved_probe) fourier_shift_probe(context, position, scratch);
}

/// conj(probe) change and |probe|^2 into the framed planes at `at`; written for the first mode,
/// else added. Returns the power.
template <class T, bool First>
inline Vector<T> add_object_update(const PatternUpdate<T>& update, std::int64_t at,
                                   Complex<T> probe, Complex<T> change) {
  const Complex<T> sum = conjugate_product(probe, change);
  const Vector<T> power = probe.re * probe.re + probe.im * probe.im;
  const Vector<T> total = First ? power : load(update.power + at) + power;
  store(update.object.re + at, First ? sum.re : load(update.object.re + at) + sum.re);
  store(update.object.im + at, First ? sum.im : load(update.object.im + at) + sum.im);
  store(update.power + at, total);
  return total;
}

/// Second half of the transform of a moved probe's change, and the move undone: `wave` -> `to`, the
/// change of the probe's spectrum.
template <class T, bool Add>
inline void fourier_shift_adjoint(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                                  Planes<T> wave, Planes<T> to) {
  const T scale = 1 / static_cast<T>(context.size * context.size);
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    const Strip<T> strip = strip_of(wave, context.size, first);
    const Strip<T> out = strip_of(to, context.size, first);
    forward_fft(strip, context.fft);
    for (std::int64_t p = 0; p < context.size; ++p)
      for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
        const Complex<T> phase = phase_at(context, scratch.phases, p, first + column);
        const Complex<T> back = conjugate_product(phase, strip.get(p, column));
        const Complex<T> scaled = {back.re * scale, back.im * scale};
        out.set(p, column, Add ? out.get(p, column) + scaled : scaled);
      }
  }
}

/// Adds an update to rows first..last-1 of the sums (re, im, weight).
template <class T>
void add_update(const KernelContext<T>& context, const PatchPosition& position,
                const PatternUpdate<T>& update, const Canvas<T>& sums, std::int64_t first,
                std::int64_t last) {
  const BilinearPatch<T> bilinear(position);
  const std::int64_t size = context.size, frame = context.frame, stride = sums.stride;
  scatter_plane<T>(update.object.re, frame, size, bilinear, sums.re, stride, first, last);
  scatter_plane<T>(update.object.im, frame, size, bilinear, sums.im, stride, first, last);
  scatter_plane<T>(update.power, frame, size, bilinear, sums.weight, stride, first, last);
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

/// patch += factor conj(probe) (the gradient of one mode's exit wave)
template <class T>
inline void step_patch(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                       std::int64_t mode, const T* factor) {
  const Strip<T> strip{scratch.strip};
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    ifft_strip_transposed(context.fft, wave_of(context, scratch, mode), first, strip);
    const Strip<T> probe = strip_of(probe_of(context, scratch, mode), context.size, first);
    const Strip<T> patch = strip_of(scratch.patch, context.size, first);
    const T* steps = factor + first * context.size;
    for (std::int64_t r = 0; r < context.size; ++r)
      for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
        const Complex<T> sum = conjugate_product(probe.get(r, column), strip.get(r, column));
        const Complex<T> o = patch.get(r, column);
        const Vector<T> step = load(steps + r * kStrip<T> + column);
        patch.set(r, column, {o.re + step * sum.re, o.im + step * sum.im});
      }
  }
}

/// Maiden, Johnson & Li, Optica 4, 736 (2017), eq. 9, `times` times on scratch.patch.
template <class T>
void single_pattern_step(const KernelContext<T>& context, const T* amplitudes, const T* factor,
                         std::int64_t times, ThreadScratch<T>& scratch) {
  for (std::int64_t i = 0; i < times; ++i) {
    forward_exit_waves(context, scratch, [](std::int64_t) {});
    project<T, true>(context, scratch, amplitudes);
    for (std::int64_t mode = 0; mode < context.modes; ++mode)
      step_patch(context, scratch, mode, factor);
  }
}

}  // namespace ptyche::cpu::PTYCHE_ISA
