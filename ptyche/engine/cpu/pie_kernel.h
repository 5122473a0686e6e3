// One pattern of ePIE or rPIE: what it asks of object and probe.
#pragma once

#include "ptyche/engine/cpu/projection_kernel.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// Largest |patch|^2 over the pattern's pixels.
template <class T>
inline T brightest(const LossTask<T>& task, Planes<T> patch) {
  Vector<T> most{};
  T rest = 0;
  const std::int64_t whole = task.size / kLanes<T> * kLanes<T>;
  for (std::int64_t c = 0; c < whole; c += kLanes<T>)
    for (std::int64_t r = 0; r < task.size; ++r) {
      const std::int64_t at = striped<T>(task.size, r, c);
      const Vector<T> re = load(patch.re + at), im = load(patch.im + at);
      most = larger<T>(most, re * re + im * im);
    }
  for (std::int64_t c = whole; c < task.size; ++c)
    for (std::int64_t r = 0; r < task.size; ++r) {
      const std::int64_t at = striped<T>(task.size, r, whole) + c - whole;
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

/// A strip of the exit wave's change -> the object's share, and with Probe the change of the probe
/// into `to` (which may be the strip itself).
template <class T, bool First, bool Probe>
inline Vector<T> use_change(const LossTask<T>& task, const ThreadState<T>& state,
                            Planes<T> probe_planes, std::int64_t first,
                            const ProbeDenominator<T>& below, const Share<T>& share, Strip<T> to) {
  const Strip<T> strip{state.strip}, probe = strip_of(probe_planes, task.size, first);
  const Strip<T> patch = strip_of(state.patch, task.size, first);
  Vector<T> strongest{};
  for (std::int64_t r = 0; r < task.size; ++r)
    for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
      const Complex<T> x = strip.get(r, column);
      const std::int64_t at = r * task.frame + first + column;
      const Vector<T> power = share_object<T, First>(share, at, probe.get(r, column), x);
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
inline void use_mode(const LossTask<T>& task, const ThreadState<T>& state, std::int64_t mode,
                     const ProbeDenominator<T>& below, Share<T>& share) {
  const ModeBuffers<T> own = mode_buffers(task, state, mode);
  const Strip<T> strip{state.strip};
  const Planes<T> probe = planes_of(task, share.probe, mode);
  Vector<T> strongest{};
  for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
    fetch_strip(task.fft, own.wave, first, strip);
    const Strip<T> to = task.moved_probe ? strip : strip_of(probe, task.size, first);
    strongest = larger<T>(
        strongest, use_change<T, First, Probe>(task, state, own.probe, first, below, share, to));
    if (Probe && task.moved_probe) send_strip(task.fft, strip, first, own.wave);
  }
  if (Probe && task.moved_probe) unmove<T, false>(task, state, own.wave, probe);
  share.strongest = lane_max<T>(strongest);
}

template <class T, bool Probe>
inline void use_modes(const LossTask<T>& task, const ThreadState<T>& state,
                      const ProbeDenominator<T>& below, Share<T>& share) {
  use_mode<T, true, Probe>(task, state, 0, below, share);
  for (std::int64_t mode = 1; mode < task.modes; ++mode)
    use_mode<T, false, Probe>(task, state, mode, below, share);
}

/// The share of one pattern: Maiden, Johnson & Li, Optica 4, 736 (2017), eqs. 9 and 13, without
/// the object's denominator, which is known when the shares are merged.
template <class T>
void pie(const LossTask<T>& task, const Place& place, const T* amplitudes, const Canvas<T>& object,
         const PieStep<T>& step, ThreadState<T>& state, Share<T>& share) {
  look(task, place, object, state);
  send(task, state, [](std::int64_t) {});
  share.misfit = project<T, true>(task, state, amplitudes);
  if (!step.refine_probe) return use_modes<T, false>(task, state, {}, share);
  const T alpha = step.probe_regularisation, most = brightest(task, state.patch);
  const T tiny = sizeof(T) == 4 ? static_cast<T>(1e-30) : static_cast<T>(1e-200);
  use_modes<T, true>(task, state, {1 - alpha, alpha * most + tiny}, share);
}

}  // namespace ptyche::cpu::PTYCHE_ISA
