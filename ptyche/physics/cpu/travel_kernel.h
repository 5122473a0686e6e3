// From the exit waves, half transformed, to the waves that the detector counts, and back: in the
// far field the other half of the transform, in the near field also a transfer function and a
// transform home.
#pragma once

#include "ptyche/physics/cpu/square_fft.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// A strip of frequencies times the transfer function, or its conjugate.
template <class T, bool Conjugate>
inline void transfer_strip(const LossTask<T>& task, std::int64_t first, Strip<T> strip) {
  const Strip<T> transfer = strip_of(task.transfer, task.size, first);
  for (std::int64_t r = 0; r < task.size; ++r)
    for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
      const Complex<T> x = strip.get(r, column), h = transfer.get(r, column);
      const Vector<T> im = Conjugate ? -h.im : h.im;
      strip.set(r, column, {x.re * h.re - x.im * im, x.re * im + x.im * h.re});
    }
}

/// The half transform of a wave, made whole, transferred and half undone.
template <class T, bool Conjugate>
inline void transfer_wave(const LossTask<T>& task, Planes<T> wave) {
  for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
    const Strip<T> strip = strip_of(wave, task.size, first);
    forward_fft(strip, task.fft);
    transfer_strip<T, Conjugate>(task, first, strip);
    backward_fft(strip, task.fft);
  }
}

/// Near field: `wave`, turned half way, -> `seen`, natural, with N times its amplitude as after one
/// unscaled transform.
template <class T>
inline void travel(const LossTask<T>& task, Planes<T> wave, Planes<T> seen) {
  transfer_wave<T, false>(task, wave);
  for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
    const Strip<T> strip = strip_of(seen, task.size, first);
    load_turned(wave.re, task.fft, first, strip.re);
    load_turned(wave.im, task.fft, first, strip.im);
    backward_fft(strip, task.fft);
  }
}

/// The adjoint of travel; `seen` is destroyed.
template <class T>
inline void travel_back(const LossTask<T>& task, Planes<T> seen, Planes<T> wave) {
  for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
    const Strip<T> strip = strip_of(seen, task.size, first);
    forward_fft(strip, task.fft);
    store_turned(strip.re, task.fft, first, wave.re);
    store_turned(strip.im, task.fft, first, wave.im);
  }
  transfer_wave<T, true>(task, wave);
}

/// The planes of mode `mode` in a block of (modes, 2) planes.
template <class T>
inline Planes<T> planes_of(const LossTask<T>& task, T* block, std::int64_t mode) {
  const std::int64_t plane = task.size * task.stride;
  return {block + 2 * mode * plane, block + (2 * mode + 1) * plane};
}

/// meet(waves, first) for each strip first.. of the waves (modes, 2) planes as the detector sees
/// them: turned, or natural in the near field. With Back, what it leaves there goes half the way
/// home into state.waves.
template <class T, class Meet>
inline void at_detector(const LossTask<T>& task, const ThreadState<T>& state, bool back,
                        const Meet& meet) {
  const bool near = task.transfer.re != nullptr;
  T* seen = near ? state.seen : state.waves;
  for (std::int64_t mode = 0; near && mode < task.modes; ++mode)
    travel(task, planes_of(task, state.waves, mode), planes_of(task, seen, mode));
  for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
    for (std::int64_t mode = 0; !near && mode < task.modes; ++mode)
      forward_fft(strip_of(planes_of(task, seen, mode), task.size, first), task.fft);
    meet(seen, first);
    for (std::int64_t mode = 0; back && !near && mode < task.modes; ++mode)
      backward_fft(strip_of(planes_of(task, seen, mode), task.size, first), task.fft);
  }
  for (std::int64_t mode = 0; back && near && mode < task.modes; ++mode)
    travel_back(task, planes_of(task, seen, mode), planes_of(task, state.waves, mode));
}

}  // namespace ptyche::cpu::PTYCHE_ISA
