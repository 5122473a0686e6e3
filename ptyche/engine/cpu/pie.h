// One pattern of ePIE or rPIE: what it asks of object and probe.
#pragma once

#include "ptyche/engine/cpu/amplitude_projection.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// Largest |patch|^2 over the pattern's pixels.
template <class T>
inline T brightest(const KernelContext<T>& context, Planes<T> patch) {
  Vector<T> most{};
  T rest = 0;
  const std::int64_t whole = context.size / kLanes<T> * kLanes<T>;
  for (std::int64_t c = 0; c < whole; c += kLanes<T>)
    for (std::int64_t r = 0; r < context.size; ++r) {
      const std::int64_t at = striped<T>(context.size, r, c);
      const Vector<T> re = load(patch.re + at), im = load(patch.im + at);
      most = larger<T>(most, re * re + im * im);
    }
  for (std::int64_t c = whole; c < context.size; ++c)
    for (std::int64_t r = 0; r < context.size; ++r) {
      const std::int64_t at = striped<T>(context.size, r, whole) + c - whole;
      const T power = patch.re[at] * patch.re[at] + patch.im[at] * patch.im[at];
      rest = power > rest ? power : rest;
    }
  const T found = lane_max<T>(most);
  return rest > found ? rest : found;
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
                              Planes<T> probe_planes, std::int64_t first,
                              const ProbeDenominator<T>& below, const PatternUpdate<T>& update,
                              Strip<T> to) {
  const Strip<T> strip{scratch.strip}, probe = strip_of(probe_planes, context.size, first);
  const Strip<T> patch = strip_of(scratch.patch, context.size, first);
  Vector<T> strongest{};
  for (std::int64_t r = 0; r < context.size; ++r)
    for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
      const Complex<T> x = strip.get(r, column);
      const std::int64_t at = r * context.frame + first + column;
      const Vector<T> power = add_object_update<T, First>(update, at, probe.get(r, column), x);
      strongest = larger<T>(strongest, power);
      if constexpr (Probe) {
        const Complex<T> o = patch.get(r, column), change = conjugate_product(o, x);
        const Vector<T> factor = 1 / (below.own * (o.re * o.re + o.im * o.im) + below.flat);
        to.set(r, column, {change.re * factor, change.im * factor});
      }
    }
  return strongest;
}

template <class T, bool First, bool Probe>
inline void mode_update(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                        std::int64_t mode, const ProbeDenominator<T>& below,
                        PatternUpdate<T>& update) {
  const Strip<T> strip{scratch.strip};
  const Planes<T> probe = planes_of(context, update.probe, mode);
  Vector<T> strongest{};
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    ifft_strip_transposed(context.fft, wave_of(context, scratch, mode), first, strip);
    const Strip<T> to = context.moved_probe ? strip : strip_of(probe, context.size, first);
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
         const Canvas<T>& object, const PieStep<T>& step, ThreadScratch<T>& scratch,
         PatternUpdate<T>& update) {
  load_patch(context, position, object, scratch);
  forward_exit_waves(context, scratch, [](std::int64_t) {});
  update.misfit = project<T, true>(context, scratch, amplitudes);
  if (!step.refine_probe) return pattern_update<T, false>(context, scratch, {}, update);
  const T alpha = step.probe_regularisation, most = brightest(context, scratch.patch);
  const T tiny = sizeof(T) == 4 ? static_cast<T>(1e-30) : static_cast<T>(1e-200);
  pattern_update<T, true>(context, scratch, {1 - alpha, alpha * most + tiny}, update);
}

}  // namespace ptyche::cpu::PTYCHE_ISA
