// One pattern of the difference map and its relatives, whose exit waves are kept from pass to pass.
#pragma once

#include "ptyche/engine/cpu/projection_kernel.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// First half of the transform of 2 P O - wave (of P O while the waves are fresh).
template <class T>
inline void send_reflected(const LossTask<T>& task, const ThreadState<T>& state, T* waves) {
  const Strip<T> strip{state.strip};
  for (std::int64_t mode = 0; mode < task.modes; ++mode) {
    const ModeBuffers<T> own = mode_buffers(task, state, mode);
    const Planes<T> kept = planes_of(task, waves, mode);
    for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
      multiply_strip(own.probe, state.patch, task.size, first, strip);
      const std::int64_t begin = first * task.size;
      for (std::int64_t i = 0; i < task.size * kStrip<T>; i += kLanes<T>) {
        store(strip.re + i, 2 * load(strip.re + i) - load(kept.re + begin + i));
        store(strip.im + i, 2 * load(strip.im + i) - load(kept.im + begin + i));
      }
      send_strip(task.fft, strip, first, own.wave);
    }
  }
}

/// The waves of the next pass, and what they ask of the object: conj(P) (wave - P O).
template <class T, bool First>
inline Vector<T> renew_strip(const LossTask<T>& task, const ThreadState<T>& state,
                             Planes<T> probe_planes, std::int64_t first, const Reflection<T>& how,
                             Strip<T> kept, const Share<T>& share) {
  const Strip<T> strip{state.strip}, probe = strip_of(probe_planes, task.size, first);
  const Strip<T> patch = strip_of(state.patch, task.size, first);
  const T keep = how.fresh ? 0 : how.keep, product_part = how.product + how.keep - keep;
  Vector<T> strongest{};
  for (std::int64_t r = 0; r < task.size; ++r)
    for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
      const Complex<T> p = probe.get(r, column), y = strip.get(r, column);
      const Complex<T> seen = product(p, patch.get(r, column)), old = kept.get(r, column);
      const Complex<T> wave = {keep * old.re + how.reflected * y.re + product_part * seen.re,
                               keep * old.im + how.reflected * y.im + product_part * seen.im};
      kept.set(r, column, wave);
      const std::int64_t at = r * task.frame + first + column;
      strongest = larger<T>(strongest, share_object<T, First>(share, at, p, wave - seen));
    }
  return strongest;
}

template <class T, bool First>
inline void renew_mode(const LossTask<T>& task, const ThreadState<T>& state, std::int64_t mode,
                       const Reflection<T>& how, T* waves, Share<T>& share) {
  const ModeBuffers<T> own = mode_buffers(task, state, mode);
  const Planes<T> kept = planes_of(task, waves, mode);
  Vector<T> strongest{};
  for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
    fetch_strip(task.fft, own.wave, first, Strip<T>{state.strip});
    strongest =
        larger<T>(strongest, renew_strip<T, First>(task, state, own.probe, first, how,
                                                   strip_of(kept, task.size, first), share));
  }
  share.strongest = lane_max<T>(strongest);
}

/// Brings the waves (modes, 2) planes of one pattern to the next pass, see Reflection, and fills
/// the object's part of its share.
template <class T>
void reflect(const LossTask<T>& task, const Place& place, const T* amplitudes,
             const Canvas<T>& object, const Reflection<T>& how, T* waves, ThreadState<T>& state,
             Share<T>& share) {
  look(task, place, object, state);
  if (how.fresh)
    send(task, state, [](std::int64_t) {});
  else
    send_reflected(task, state, waves);
  share.misfit = project<T, false>(task, state, amplitudes, how.trust);
  renew_mode<T, true>(task, state, 0, how, waves, share);
  for (std::int64_t mode = 1; mode < task.modes; ++mode)
    renew_mode<T, false>(task, state, mode, how, waves, share);
}

/// A strip of conj(O) (wave - P O): added to the sum, or with Moved left in the thread's strip.
template <class T, bool Moved>
inline void sum_strip(const LossTask<T>& task, const ThreadState<T>& state, Planes<T> probe_planes,
                      std::int64_t first, Strip<T> kept, Strip<T> sum) {
  const Strip<T> strip{state.strip}, probe = strip_of(probe_planes, task.size, first);
  const Strip<T> patch = strip_of(state.patch, task.size, first);
  for (std::int64_t r = 0; r < task.size; ++r)
    for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
      const Complex<T> o = patch.get(r, column);
      const Complex<T> x = kept.get(r, column) - product(probe.get(r, column), o);
      const Complex<T> change = conjugate_product(o, x);
      if constexpr (Moved)
        strip.set(r, column, change);
      else
        sum.set(r, column, sum.get(r, column) + change);
    }
}

/// Adds to the sums what the kept waves of one pattern ask of the probe.
template <class T>
void sum_probe(const LossTask<T>& task, const Place& place, const Canvas<T>& object, T* waves,
               ThreadState<T>& state, const ProbeSums<T>& sums) {
  look(task, place, object, state);
  for (std::int64_t i = 0; i < task.size * task.stride; i += kLanes<T>) {
    const Vector<T> re = load(state.patch.re + i), im = load(state.patch.im + i);
    store(sums.power + i, load(sums.power + i) + re * re + im * im);
  }
  for (std::int64_t mode = 0; mode < task.modes; ++mode) {
    const ModeBuffers<T> own = mode_buffers(task, state, mode);
    const Planes<T> kept = planes_of(task, waves, mode), sum = planes_of(task, sums.change, mode);
    for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
      const Strip<T> from = strip_of(kept, task.size, first), to = strip_of(sum, task.size, first);
      if (!task.moved_probe) {
        sum_strip<T, false>(task, state, own.probe, first, from, to);
        continue;
      }
      sum_strip<T, true>(task, state, own.probe, first, from, to);
      send_strip(task.fft, Strip<T>{state.strip}, first, own.wave);
    }
    if (task.moved_probe) unmove<T, true>(task, state, own.wave, sum);
  }
}

}  // namespace ptyche::cpu::PTYCHE_ISA
