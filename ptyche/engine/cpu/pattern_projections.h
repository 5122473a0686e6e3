// The projection solvers on one pattern: the way to the detector and back with the measured
// amplitudes put in there, steps of an object from sums over patterns and object steps of one
// pattern alone; then what ePIE and rPIE ask of object and probe, then the difference map and its
// relatives.
#pragma once

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

/// Counts (row, col) of one pattern, zero frequency in the middle -> in FFT order.
template <class T, class Count>
void order_counts(const KernelContext<T>& context, const Count* counts, T* to) {
  const std::int64_t size = context.size, half = size / 2;
  for (std::int64_t row = 0; row < size; ++row, to += size) {
    const Count* const from = counts + (row + half) % size * size;
    for (std::int64_t col = 0; col < size - half; ++col) to[col] = static_cast<T>(from[half + col]);
    for (std::int64_t col = 0; col < half; ++col) to[size - half + col] = static_cast<T>(from[col]);
  }
}

/// project_strip for one mode or any number; all that the loop looks at is a local, as in
/// formula_loss.
template <class T, bool Change, bool kOneMode>
inline double project_modes(const KernelContext<T>& context, T* waves, const T* amplitudes,
                            std::int64_t first, T brightness, T trust) {
  const T scale = 1 / static_cast<T>(context.size * context.size), floor = context.floor;
  const std::int64_t begin = first * context.size, end = begin + kStrip<T> * context.size;
  const std::int64_t plane = context.size * context.stride, modes = kOneMode ? 1 : context.modes;
  const T *mask = context.mask, *background = context.background;
  const T expected_scale = brightness * scale, share = Change ? scale : scale * trust;
  Vector<T> misfit{};
  for (std::int64_t at = begin; at < end; at += kLanes<T>) {
    Vector<T> intensity = light_at(waves + at, plane, modes, expected_scale);
    if (background) intensity += brightness * load(background + at);
    const Vector<T> modelled = root<T>(intensity);
    const auto counted = load(mask + at) > 0;
    const Vector<T> missing = where<T>(counted, load(amplitudes + at) - modelled);
    misfit += missing * missing;
    const Vector<T> excess = share * missing / (modelled + floor);
    const Vector<T> factor = Change ? excess : scale + excess;
    for (std::int64_t i = 0; i < 2 * modes; ++i) {
      T* part = waves + i * plane + at;
      store(part, load(part) * factor);
    }
  }
  return lane_sum<T>(misfit);
}

/// For the strip first.. of the waves (modes, 2) planes at the detector: all modes are brought to
/// the measured amplitude in proportion (Thibault & Menzel, Nature 494, 68 (2013)); the waves
/// become N^2 times smaller, as two unscaled transforms ask for, and with Change the difference
/// alone is left. `brightness` multiplies what is expected. Returns the misfit of the amplitudes.
template <class T, bool Change>
inline double project_strip(const KernelContext<T>& context, T* waves, const T* amplitudes,
                            std::int64_t first, T brightness, T trust) {
  return context.modes == 1
             ? project_modes<T, Change, true>(context, waves, amplitudes, first, brightness, trust)
             : project_modes<T, Change, false>(context, waves, amplitudes, first, brightness,
                                               trust);
}

/// Second half of the transform, projection, first half of the way back. Returns the misfit.
template <class T, bool Change>
inline double project(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                      const T* amplitudes, double brightness = 1, T trust = 1) {
  double misfit = 0;
  at_detector(context, scratch, true, nullptr, [&](T* waves, std::int64_t first) {
    misfit += project_strip<T, Change>(context, waves, amplitudes, first,
                                       static_cast<T>(brightness), trust);
  });
  return misfit;
}

/// Patch, and where the probe is moved its modes, into the thread's planes.
template <class T>
inline void load_patch(const KernelContext<T>& context, const PatchPosition& position,
                       const Planes<T>& object, ThreadScratch<T>& scratch) {
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>)
    gather_strip(context, object, position, first, scratch.patch);
  if (context.moved_probe) fourier_shift_probe(context, position, scratch);
}

/// conj(probe) change, and unless it is known |probe|^2, into the framed planes at `at`; written
/// for the first mode, else added. Returns the power, 0 if it is known.
template <class T, bool First>
inline Vector<T> add_object_update(const PatternUpdate<T>& update, std::int64_t at,
                                   Complex<T> probe, Complex<T> change) {
  const Complex<T> sum = conjugate_product(probe, change);
  store(update.object.re + at, First ? sum.re : load(update.object.re + at) + sum.re);
  store(update.object.im + at, First ? sum.im : load(update.object.im + at) + sum.im);
  if (update.power_is_known) return Vector<T>{};
  const Vector<T> power = probe.re * probe.re + probe.im * probe.im;
  const Vector<T> total = First ? power : load(update.power + at) + power;
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
    const Planes<T> strip = strip_of(wave, context.size, first);
    const Planes<T> out = strip_of(to, context.size, first);
    forward_fft(strip, context.fft);
    for (std::int64_t p = 0; p < context.size; ++p)
      for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
        const Complex<T> phase = phase_at(context, scratch.phases, p, first + column);
        const Complex<T> back = conjugate_product(phase, get(strip, p, column));
        const Complex<T> scaled = {back.re * scale, back.im * scale};
        set(out, p, column, Add ? get(out, p, column) + scaled : scaled);
      }
  }
}

/// Adds an update to rows first..last-1 of the sums (re, im, weight).
template <class T>
void add_update(const KernelContext<T>& context, const PatchPosition& position,
                const PatternUpdate<T>& update, const Planes<T>& sums, std::int64_t first,
                std::int64_t last) {
  const std::int64_t size = context.size, frame = context.frame, stride = sums.stride;
  scatter_plane<T>(update.object.re, frame, size, position, sums.re, stride, first, last);
  scatter_plane<T>(update.object.im, frame, size, position, sums.im, stride, first, last);
  scatter_plane<T>(update.power, frame, size, position, sums.weight, stride, first, last);
}

/// ObjectStep on rows first..last-1, columns col..col+count-1 (rounded up to whole vectors); the
/// sums there become 0, so that a pixel is not moved twice.
template <class T>
void step_object(const Planes<T>& object, const Planes<T>& sums, const ObjectStep<T>& step,
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
  const Planes<T> strip = scratch.strip;
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    ifft_strip_transposed(context.fft, wave_of(context, scratch, mode), first, strip);
    const Planes<T> probe = strip_of(probe_of(context, scratch, mode), context.size, first);
    const Planes<T> patch = strip_of(scratch.patch, context.size, first);
    const T* steps = factor + first * context.size;
    for (std::int64_t r = 0; r < context.size; ++r)
      for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
        const Complex<T> sum = conjugate_product(get(probe, r, column), get(strip, r, column));
        const Complex<T> o = get(patch, r, column);
        const Vector<T> step = load(steps + r * kStrip<T> + column);
        set(patch, r, column, {o.re + step * sum.re, o.im + step * sum.im});
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

// ePIE and rPIE.

/// Largest |patch|^2 over the pattern's pixels in the strip first.., at least `most`.
template <class T>
inline Vector<T> brightest(const KernelContext<T>& context, Planes<T> patch, std::int64_t first,
                           Vector<T> most) {
  for (int column = 0; column < kStrip<T> && first + column < context.size; column += kLanes<T>) {
    const std::int64_t count = context.size - first - column;
    for (std::int64_t r = 0; r < context.size; ++r) {
      const std::int64_t at = first * context.size + r * kStrip<T> + column;
      const Vector<T> re = load_some(patch.re + at, count), im = load_some(patch.im + at, count);
      most = larger<T>(most, re * re + im * im);
    }
  }
  return most;
}

/// The denominator of the probe's change: own |O|^2 + flat, flat = alpha max |O|^2.
template <class T>
struct ProbeDenominator {
  T own = 0, flat = 1;
};

/// A strip of the exit wave's change -> the object's update, and with Probe the change of the probe
/// into `to` (which may be the strip itself).
template <class T, bool First, bool Probe>
inline Vector<T> strip_update(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                              Planes<T> probe_planes, std::int64_t first, ProbeDenominator<T> below,
                              PatternUpdate<T> update, Planes<T> to) {
  const Planes<T> strip = scratch.strip, probe = strip_of(probe_planes, context.size, first);
  const Planes<T> patch = strip_of(scratch.patch, context.size, first);
  Vector<T> strongest{};
  for (std::int64_t r = 0; r < context.size; ++r)
    for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
      const Complex<T> x = get(strip, r, column);
      const std::int64_t at = r * context.frame + first + column;
      const Vector<T> power = add_object_update<T, First>(update, at, get(probe, r, column), x);
      strongest = larger<T>(strongest, power);
      if constexpr (Probe) {
        const Complex<T> o = get(patch, r, column), change = conjugate_product(o, x);
        const Vector<T> factor = 1 / (below.own * (o.re * o.re + o.im * o.im) + below.flat);
        set(to, r, column, {change.re * factor, change.im * factor});
      }
    }
  return strongest;
}

template <class T, bool First, bool Probe>
inline void mode_update(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                        std::int64_t mode, const ProbeDenominator<T>& below,
                        PatternUpdate<T>& update) {
  const Planes<T> strip = scratch.strip;
  const Planes<T> probe = planes_of(context, update.probe, mode);
  Vector<T> strongest{};
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    ifft_strip_transposed(context.fft, wave_of(context, scratch, mode), first, strip);
    const Planes<T> to = context.moved_probe ? strip : strip_of(probe, context.size, first);
    strongest = larger<T>(
        strongest, strip_update<T, First, Probe>(context, scratch, probe_of(context, scratch, mode),
                                                 first, below, update, to));
    if (Probe && context.moved_probe)
      fft_strip_transposed(context.fft, strip, first, wave_of(context, scratch, mode));
  }
  if (Probe && context.moved_probe)
    fourier_shift_adjoint<T, false>(context, scratch, wave_of(context, scratch, mode), probe);
  update.strongest = lane_max<T>(strongest);
}

template <class T, bool Probe>
inline void pattern_update(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                           const ProbeDenominator<T>& below, PatternUpdate<T>& update) {
  mode_update<T, true, Probe>(context, scratch, 0, below, update);
  for (std::int64_t mode = 1; mode < context.modes; ++mode)
    mode_update<T, false, Probe>(context, scratch, mode, below, update);
}

/// The update of one pattern: Maiden, Johnson & Li, Optica 4, 736 (2017), eqs. 9 and 13, without
/// the object's denominator, which is known when the updates are merged.
template <class T>
void pie(const KernelContext<T>& context, const PatchPosition& position, const T* amplitudes,
         const Planes<T>& object, const PieStep<T>& step, ThreadScratch<T>& scratch,
         PatternUpdate<T>& update) {
  Vector<T> light{};
  exit_waves(context, position, object, scratch, [&](std::int64_t first) {
    if (step.refine_probe) light = brightest(context, scratch.patch, first, light);
  });
  update.misfit = project<T, true>(context, scratch, amplitudes, position.intensity);
  if (!step.refine_probe) return pattern_update<T, false>(context, scratch, {}, update);
  const T alpha = step.probe_regularisation, most = lane_max<T>(light);
  const T tiny = sizeof(T) == 4 ? static_cast<T>(1e-30) : static_cast<T>(1e-200);
  pattern_update<T, true>(context, scratch, {1 - alpha, alpha * most + tiny}, update);
}

// The difference map and its relatives, whose exit waves are kept from pass to pass.

/// First half of the transform of 2 P O - wave (of P O while the waves are fresh).
template <class T>
inline void forward_reflected_waves(const KernelContext<T>& context,
                                    const ThreadScratch<T>& scratch, T* waves) {
  const Planes<T> strip = scratch.strip;
  for (std::int64_t mode = 0; mode < context.modes; ++mode) {
    const Planes<T> kept = planes_of(context, waves, mode);
    for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
      multiply_strip(probe_of(context, scratch, mode), scratch.patch, context.size, first, strip);
      const std::int64_t begin = first * context.size;
      for (std::int64_t i = 0; i < context.size * kStrip<T>; i += kLanes<T>) {
        store(strip.re + i, 2 * load(strip.re + i) - load(kept.re + begin + i));
        store(strip.im + i, 2 * load(strip.im + i) - load(kept.im + begin + i));
      }
      fft_strip_transposed(context.fft, strip, first, wave_of(context, scratch, mode));
    }
  }
}

/// The waves of the next pass, and what they ask of the object: conj(P) (wave - P O).
template <class T, bool First>
inline Vector<T> update_wave_strip(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                                   Planes<T> probe_planes, std::int64_t first,
                                   const DifferenceMapCoefficients<T>& how, Planes<T> kept,
                                   PatternUpdate<T> update) {
  const Planes<T> strip = scratch.strip, probe = strip_of(probe_planes, context.size, first);
  const Planes<T> patch = strip_of(scratch.patch, context.size, first);
  const T keep = how.fresh ? 0 : how.keep, product_part = how.product + how.keep - keep;
  Vector<T> strongest{};
  for (std::int64_t r = 0; r < context.size; ++r)
    for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
      const Complex<T> p = get(probe, r, column), y = get(strip, r, column);
      const Complex<T> seen = product(p, get(patch, r, column)), old = get(kept, r, column);
      const Complex<T> wave = {keep * old.re + how.reflected * y.re + product_part * seen.re,
                               keep * old.im + how.reflected * y.im + product_part * seen.im};
      set(kept, r, column, wave);
      const std::int64_t at = r * context.frame + first + column;
      strongest = larger<T>(strongest, add_object_update<T, First>(update, at, p, wave - seen));
    }
  return strongest;
}

template <class T, bool First>
inline void update_wave_mode(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                             std::int64_t mode, const DifferenceMapCoefficients<T>& how, T* waves,
                             PatternUpdate<T>& update) {
  const Planes<T> kept = planes_of(context, waves, mode);
  Vector<T> strongest{};
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    ifft_strip_transposed(context.fft, wave_of(context, scratch, mode), first, scratch.strip);
    strongest = larger<T>(strongest, update_wave_strip<T, First>(
                                         context, scratch, probe_of(context, scratch, mode), first,
                                         how, strip_of(kept, context.size, first), update));
  }
  update.strongest = lane_max<T>(strongest);
}

/// Brings the waves (modes, 2) planes of one pattern to the next pass, see
/// DifferenceMapCoefficients, and fills the object's part of its update.
template <class T>
void difference_map_step(const KernelContext<T>& context, const PatchPosition& position,
                         const T* amplitudes, const Planes<T>& object,
                         const DifferenceMapCoefficients<T>& how, T* waves,
                         ThreadScratch<T>& scratch, PatternUpdate<T>& update) {
  load_patch(context, position, object, scratch);
  if (how.fresh)
    forward_exit_waves(context, scratch, [](std::int64_t) {});
  else
    forward_reflected_waves(context, scratch, waves);
  update.misfit = project<T, false>(context, scratch, amplitudes, position.intensity, how.trust);
  update_wave_mode<T, true>(context, scratch, 0, how, waves, update);
  for (std::int64_t mode = 1; mode < context.modes; ++mode)
    update_wave_mode<T, false>(context, scratch, mode, how, waves, update);
}

/// A strip of conj(O) (wave - P O): added to the sum, or with Moved left in the thread's strip.
template <class T, bool Moved>
inline void sum_strip(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                      Planes<T> probe_planes, std::int64_t first, Planes<T> kept, Planes<T> sum) {
  const Planes<T> strip = scratch.strip, probe = strip_of(probe_planes, context.size, first);
  const Planes<T> patch = strip_of(scratch.patch, context.size, first);
  for (std::int64_t r = 0; r < context.size; ++r)
    for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
      const Complex<T> o = get(patch, r, column);
      const Complex<T> x = get(kept, r, column) - product(get(probe, r, column), o);
      const Complex<T> change = conjugate_product(o, x);
      if constexpr (Moved)
        set(strip, r, column, change);
      else
        set(sum, r, column, get(sum, r, column) + change);
    }
}

/// Adds to the sums what the kept waves of one pattern ask of the probe.
template <class T>
void sum_probe(const KernelContext<T>& context, const PatchPosition& position,
               const Planes<T>& object, T* waves, ThreadScratch<T>& scratch,
               const ProbeSums<T>& sums) {
  load_patch(context, position, object, scratch);
  for (std::int64_t i = 0; i < context.size * context.stride; i += kLanes<T>) {
    const Vector<T> re = load(scratch.patch.re + i), im = load(scratch.patch.im + i);
    store(sums.power + i, load(sums.power + i) + re * re + im * im);
  }
  for (std::int64_t mode = 0; mode < context.modes; ++mode) {
    const Planes<T> kept = planes_of(context, waves, mode),
                    sum = planes_of(context, sums.change, mode);
    for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
      const Planes<T> from = strip_of(kept, context.size, first),
                      to = strip_of(sum, context.size, first);
      if (!context.moved_probe) {
        sum_strip<T, false>(context, scratch, probe_of(context, scratch, mode), first, from, to);
        continue;
      }
      sum_strip<T, true>(context, scratch, probe_of(context, scratch, mode), first, from, to);
      fft_strip_transposed(context.fft, scratch.strip, first, wave_of(context, scratch, mode));
    }
    if (context.moved_probe)
      fourier_shift_adjoint<T, true>(context, scratch, wave_of(context, scratch, mode), sum);
  }
}

}  // namespace ptyche::cpu::PTYCHE_ISA
