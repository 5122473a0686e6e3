// One pattern: canvas -> patch -> exit wave -> detector -> loss, and back, strip by strip.
//
// Two FFTs per mode and direction would pass over memory eight times; here the exit wave is formed,
// transformed, compared, transformed back and used up while its strip is in the first cache.
#pragma once

#include "ptyche/physics/cpu/between_pixels.h"
#include "ptyche/physics/cpu/detect_kernel.h"
#include "ptyche/physics/cpu/travel_kernel.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// The buffers of one mode, all striped.
template <class T>
struct ModeBuffers {
  Planes<T> wave, probe, probe_gradient;
};

template <class T>
inline ModeBuffers<T> mode_buffers(const LossTask<T>& task, const ThreadState<T>& state,
                                   std::int64_t mode) {
  return {planes_of(task, state.waves, mode),
          task.moved_probe ? planes_of(task, state.moved, mode) : task.probe[mode],
          planes_of(task, state.probe_gradient, mode)};
}

/// strip = a b for columns first.. of two natural images.
template <class T>
inline void multiply_strip(Planes<T> a, Planes<T> b, std::int64_t size, std::int64_t first,
                           Strip<T> strip) {
  const std::int64_t begin = first * size, count = size * kStrip<T>;
  for (std::int64_t i = 0; i < count; i += kLanes<T>) {
    const Vector<T> ar = load(a.re + begin + i), ai = load(a.im + begin + i);
    const Vector<T> br = load(b.re + begin + i), bi = load(b.im + begin + i);
    store(strip.re + i, ar * br - ai * bi);
    store(strip.im + i, ar * bi + ai * br);
  }
}

/// Counts (row, col) -> natural.
template <class T>
inline void strip_counts(const LossTask<T>& task, const T* counts, T* to) {
  for (std::int64_t first = 0; first < task.size; first += kStrip<T>)
    for (std::int64_t r = 0; r < task.size; ++r)
      for (std::int64_t c = first; c < task.size && c < first + kStrip<T>; ++c)
        to[striped<T>(task.size, r, first) + c - first] = counts[r * task.size + c];
}

/// Counts (row, col) -> turned.
template <class T>
inline void turn_counts(const LossTask<T>& task, const T* counts, T* to) {
  constexpr int lanes = kLanes<T>;
  const std::int64_t whole = task.size / lanes * lanes;
  for (std::int64_t r = 0; r < whole; r += lanes)
    for (std::int64_t c = 0; c < whole; c += lanes) {
      Vector<T> block[lanes];
      for (int i = 0; i < lanes; ++i) block[i] = load(counts + (r + i) * task.size + c);
      transpose<T>(block);
      for (int i = 0; i < lanes; ++i)
        store(to + striped<T>(task.size, task.fft.position[c + i], r), block[i]);
    }
  for (std::int64_t r = 0; r < task.size; ++r)
    for (std::int64_t c = r < whole ? whole : 0; c < task.size; ++c)
      to[striped<T>(task.size, task.fft.position[c], r)] = counts[r * task.size + c];
}

/// Counts (N, N) in FFT order -> a plane at the detector.
template <class T>
inline void take_counts(const LossTask<T>& task, const T* counts, T* to) {
  task.transfer.re ? strip_counts(task, counts, to) : turn_counts(task, counts, to);
}

/// Patch and counts of one pattern into the thread's planes.
template <class T>
inline void fetch(const LossTask<T>& task, const Place& place, const T* counts,
                  const Canvas<T>& canvas, ThreadState<T>& state) {
  const Spot<T> spot(place);
  see<T>(canvas.re, canvas.stride, spot, task.size, state.patch.re);
  see<T>(canvas.im, canvas.stride, spot, task.size, state.patch.im);
  take_counts(task, counts, state.counts);
}

/// The probe's modes, moved by the place's shift, into their planes.
template <class T>
inline void move_probe(const LossTask<T>& task, const Place& place, ThreadState<T>& state) {
  fill_phases(task, place, state.phases);
  for (std::int64_t mode = 0; mode < task.modes; ++mode) {
    const ModeBuffers<T> own = mode_buffers(task, state, mode);
    for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
      const Strip<T> from = strip_of(task.spectrum[mode], task.size, first);
      const Strip<T> to = strip_of(own.wave, task.size, first);
      for (std::int64_t p = 0; p < task.size; ++p)
        for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
          const Complex<T> x = from.get(p, column);
          const Complex<T> w = phase_at(task, state.phases, p, first + column);
          to.set(p, column, {x.re * w.re - x.im * w.im, x.re * w.im + x.im * w.re});
        }
      backward_fft(to, task.fft);
    }
    for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
      const Strip<T> strip = strip_of(own.probe, task.size, first);
      load_turned(own.wave.re, task.fft, first, strip.re);
      load_turned(own.wave.im, task.fft, first, strip.im);
      backward_fft(strip, task.fft);
    }
  }
}

/// Exit waves, first half of their transform: natural planes -> `wave`, turned half way.
template <class T>
inline void send(const LossTask<T>& task, const ThreadState<T>& state) {
  const Strip<T> strip{state.strip};
  for (std::int64_t mode = 0; mode < task.modes; ++mode) {
    const ModeBuffers<T> own = mode_buffers(task, state, mode);
    for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
      multiply_strip(own.probe, state.patch, task.size, first, strip);
      forward_fft(strip, task.fft);
      store_turned(strip.re, task.fft, first, own.wave.re);
      store_turned(strip.im, task.fft, first, own.wave.im);
    }
  }
}

/// Second half of the transform, loss, and the first half of the way back.
template <class T>
inline void meet(const LossTask<T>& task, ThreadState<T>& state, double* shift_slope) {
  at_detector(task, state, task.want_gradient, shift_slope,
              [&](T* waves, std::int64_t first) { detect(task, waves, state, first); });
}

/// A strip of the exit wave's gradient: conj(probe) strip is the patch's (written for the first
/// mode, else added), conj(patch) strip the probe's as this pattern saw it: added to its plane, or,
/// where the probe is moved, left in the strip.
template <class T, bool First, bool Moved>
inline void use_strip(const LossTask<T>& task, const ThreadState<T>& state,
                      const ModeBuffers<T>& own, std::int64_t first) {
  const Strip<T> strip{state.strip}, probe = strip_of(own.probe, task.size, first);
  const Strip<T> patch = strip_of(state.patch, task.size, first);
  const Strip<T> sum = strip_of(own.probe_gradient, task.size, first);
  for (std::int64_t r = 0; r < task.size; ++r)
    for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
      const Complex<T> x = strip.get(r, column), p = probe.get(r, column);
      const Complex<T> o = patch.get(r, column);
      const Vector<T> re = p.re * x.re + p.im * x.im, im = p.re * x.im - p.im * x.re;
      T* to_re = state.patch_gradient.re + r * task.frame + first + column;
      T* to_im = state.patch_gradient.im + r * task.frame + first + column;
      store(to_re, First ? re : load(to_re) + re);
      store(to_im, First ? im : load(to_im) + im);
      const Complex<T> by_probe = {o.re * x.re + o.im * x.im, o.re * x.im - o.im * x.re};
      if constexpr (Moved)
        strip.set(r, column, by_probe);
      else
        sum.set(r, column, sum.get(r, column) + by_probe);
    }
}

/// Second half of the gradient of a moved probe: `wave` holds its transform half way. Adds it to
/// the turned probe gradient and its slope to gradient[0], [1] (row, col of the shift).
template <class T>
inline void add_moved_gradient(const LossTask<T>& task, const ThreadState<T>& state,
                               std::int64_t mode, double* gradient) {
  const ModeBuffers<T> own = mode_buffers(task, state, mode);
  double by_row = 0, by_col = 0;
  for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
    const Strip<T> strip = strip_of(own.wave, task.size, first);
    const Strip<T> spectrum = strip_of(task.spectrum[mode], task.size, first);
    const Strip<T> sum = strip_of(own.probe_gradient, task.size, first);
    forward_fft(strip, task.fft);
    Vector<T> row_sum{};
    for (std::int64_t p = 0; p < task.size; ++p) {
      Vector<T> slopes{};
      for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
        const Complex<T> phase = phase_at(task, state.phases, p, first + column);
        const Complex<T> back = conjugate_product(phase, strip.get(p, column));
        sum.set(p, column, sum.get(p, column) + back);
        add_slope(task, back, spectrum.get(p, column), first + column, row_sum, slopes);
      }
      by_col += lane_sum<T>(slopes) * static_cast<double>(task.frequencies[task.fft.order[p]]);
    }
    by_row += lane_sum<T>(row_sum);
  }
  gradient[0] += 6.283185307179586477 * by_row;
  gradient[1] += 6.283185307179586477 * by_col;
}

/// Second half of the way back, and its use for patch and probe.
template <class T, bool Moved>
inline void receive(const LossTask<T>& task, ThreadState<T>& state, double* place_gradient) {
  const Strip<T> strip{state.strip};
  for (std::int64_t mode = 0; mode < task.modes; ++mode) {
    const ModeBuffers<T> own = mode_buffers(task, state, mode);
    for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
      load_turned(own.wave.re, task.fft, first, strip.re);
      load_turned(own.wave.im, task.fft, first, strip.im);
      backward_fft(strip, task.fft);
      if (mode == 0)
        use_strip<T, true, Moved>(task, state, own, first);
      else
        use_strip<T, false, Moved>(task, state, own, first);
      if constexpr (Moved) {
        forward_fft(strip, task.fft);
        store_turned(strip.re, task.fft, first, own.wave.re);
        store_turned(strip.im, task.fft, first, own.wave.im);
      }
    }
    if constexpr (Moved) add_moved_gradient(task, state, mode, place_gradient + 2);
  }
}

/// The patch's gradient back onto the canvas, and the slope by position.
template <class T>
inline void give_back(const LossTask<T>& task, const Place& place, const Canvas<T>& canvas,
                      const Canvas<T>& gradient, const ThreadState<T>& state,
                      double* place_gradient) {
  const Spot<T> spot(place);
  const std::int64_t size = task.size, frame = task.frame, stride = gradient.stride;
  const Planes<T>& from = state.patch_gradient;
  if (!task.want_place || task.moved_probe) {
    spread<T>(from.re, frame, size, spot, gradient.re, stride, 0, gradient.rows);
    spread<T>(from.im, frame, size, spot, gradient.im, stride, 0, gradient.rows);
    return;
  }
  Slopes<T> slopes;
  spread_with_slopes<T>(from.re, frame, size, spot, canvas.re, gradient.re, stride, slopes);
  spread_with_slopes<T>(from.im, frame, size, spot, canvas.im, gradient.im, stride, slopes);
  place_gradient[0] += lane_sum<T>(slopes.row);
  place_gradient[1] += lane_sum<T>(slopes.col);
}

template <class T>
void pattern(const LossTask<T>& task, const Place& place, const T* counts, const Canvas<T>& canvas,
             const Canvas<T>& gradient, ThreadState<T>& state, double* place_gradient) {
  fetch(task, place, counts, canvas, state);
  if (task.moved_probe) move_probe(task, place, state);
  send(task, state);
  for (int i = 0; task.want_gradient && i < 4; ++i) place_gradient[i] = 0;
  meet(task, state, task.want_gradient ? place_gradient + 2 : nullptr);
  if (!task.want_gradient) return;
  if (task.moved_probe)
    receive<T, true>(task, state, place_gradient);
  else
    receive<T, false>(task, state, place_gradient);
  give_back(task, place, canvas, gradient, state, place_gradient);
}

}  // namespace ptyche::cpu::PTYCHE_ISA
