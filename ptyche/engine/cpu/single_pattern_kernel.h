// Object steps of one pattern on a patch of its own.
#pragma once

#include "ptyche/engine/cpu/projection_kernel.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// patch += factor conj(probe) (what one mode's wave brings home)
template <class T>
inline void step_patch(const LossTask<T>& task, const ThreadState<T>& state, std::int64_t mode,
                       const T* factor) {
  const ModeBuffers<T> own = mode_buffers(task, state, mode);
  const Strip<T> strip{state.strip};
  for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
    fetch_strip(task.fft, own.wave, first, strip);
    const Strip<T> probe = strip_of(own.probe, task.size, first);
    const Strip<T> patch = strip_of(state.patch, task.size, first);
    const T* steps = factor + first * task.size;
    for (std::int64_t r = 0; r < task.size; ++r)
      for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
        const Complex<T> sum = conjugate_product(probe.get(r, column), strip.get(r, column));
        const Complex<T> o = patch.get(r, column);
        const Vector<T> step = load(steps + r * kStrip<T> + column);
        patch.set(r, column, {o.re + step * sum.re, o.im + step * sum.im});
      }
  }
}

/// Maiden, Johnson & Li, Optica 4, 736 (2017), eq. 9, `times` times on state.patch.
template <class T>
void step_alone(const LossTask<T>& task, const T* amplitudes, const T* factor, std::int64_t times,
                ThreadState<T>& state) {
  for (std::int64_t i = 0; i < times; ++i) {
    send(task, state, [](std::int64_t) {});
    project<T, true>(task, state, amplitudes);
    for (std::int64_t mode = 0; mode < task.modes; ++mode) step_patch(task, state, mode, factor);
  }
}

}  // namespace ptyche::cpu::PTYCHE_ISA
