// One pattern: canvas -> patch -> exit wave -> detector -> loss, and back, strip by strip.
//
// Two FFTs per mode and direction would pass over memory eight times; here the exit wave is formed,
// transformed, compared, transformed back and used up while its strip is in the first cache.
#pragma once

#include "ptyche/engine/cpu/between_pixels.h"
#include "ptyche/engine/cpu/detect_kernel.h"
#include "ptyche/engine/cpu/landing.h"
#include "ptyche/engine/cpu/travel_kernel.h"

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

/// Counts (row, col) -> columns first.. of a natural plane.
template <class T>
inline void strip_counts(const LossTask<T>& task, const T* counts, std::int64_t first, T* to) {
  const std::int64_t left = task.size - first, columns = left < kStrip<T> ? left : kStrip<T>;
  for (std::int64_t r = 0; r < task.size; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      to[r * kStrip<T> + c] = counts[r * task.size + first + c];
}

/// Counts (row, col) -> columns first.. (rows of the counts) of a turned plane.
template <class T>
inline void turn_counts(const LossTask<T>& task, const T* counts, std::int64_t first, T* to) {
  constexpr int lanes = kLanes<T>;
  const std::int64_t left = task.size - first, rows = left < kStrip<T> ? left : kStrip<T>;
  const std::int64_t whole_rows = rows / lanes * lanes, whole = task.size / lanes * lanes;
  const T* from = counts + first * task.size;
  for (std::int64_t r = 0; r < whole_rows; r += lanes)
    for (std::int64_t c = 0; c < whole; c += lanes) {
      Vector<T> block[lanes];
      for (int i = 0; i < lanes; ++i) block[i] = load(from + (r + i) * task.size + c);
      transpose<T>(block);
      for (int i = 0; i < lanes; ++i)
        store(to + task.fft.position[c + i] * kStrip<T> + r, block[i]);
    }
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = r < whole_rows ? whole : 0; c < task.size; ++c)
      to[task.fft.position[c] * kStrip<T> + r] = from[r * task.size + c];
}

/// Counts (N, N) in FFT order -> the strip first.. of a plane at the detector.
template <class T>
inline void take_counts(const LossTask<T>& task, const T* counts, std::int64_t first, T* to) {
  task.transfer.re ? strip_counts(task, counts, first, to) : turn_counts(task, counts, first, to);
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
      fetch_strip(task.fft, own.wave, first, strip);
    }
  }
}

/// Exit waves, first half of their transform: natural planes -> `wave`, turned half way. see(first)
/// fills the patch's strip first.., if it is not filled yet.
template <class T, class See>
inline void send(const LossTask<T>& task, const ThreadState<T>& state, const See& see) {
  const Strip<T> strip{state.strip};
  for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
    see(first);
    for (std::int64_t mode = 0; mode < task.modes; ++mode) {
      const ModeBuffers<T> own = mode_buffers(task, state, mode);
      multiply_strip(own.probe, state.patch, task.size, first, strip);
      send_strip(task.fft, strip, first, own.wave);
    }
  }
}

/// Second half of the transform, loss, and the first half of the way back.
template <class T>
inline void meet(const LossTask<T>& task, const T* counts, ThreadState<T>& state,
                 double* shift_slope) {
  at_detector(task, state, task.want_gradient, shift_slope, [&](T* waves, std::int64_t first) {
    take_counts(task, counts, first, state.counts);
    detect(task, waves, state, first);
  });
}

/// One vector of a strip of the exit wave's gradient: conj(probe) strip, the patch's, is returned;
/// conj(patch) strip, the probe's as this pattern saw it, is added to its plane, or, where the
/// probe is moved, left in the strip.
template <class T, bool Moved>
inline Complex<T> use_wave(Strip<T> strip, Strip<T> patch, Strip<T> probe, Strip<T> sum,
                           std::int64_t r, int column) {
  const Complex<T> x = strip.get(r, column);
  const Complex<T> by_probe = conjugate_product(patch.get(r, column), x);
  if constexpr (Moved)
    strip.set(r, column, by_probe);
  else
    sum.set(r, column, sum.get(r, column) + by_probe);
  return conjugate_product(probe.get(r, column), x);
}

/// A strip of the exit wave's gradient, all of it used: for the probe, and for the canvas. The
/// landing is a copy, which stays in registers; its sums are returned.
template <class T, bool Moved, Way How>
inline Slopes<T> use_strip(const LossTask<T>& task, const ThreadState<T>& state,
                           const ModeBuffers<T>& own, std::int64_t first, Landing<T> landing) {
  const Strip<T> strip{state.strip}, probe = strip_of(own.probe, task.size, first);
  const Strip<T> patch = strip_of(state.patch, task.size, first);
  const Strip<T> sum = strip_of(own.probe_gradient, task.size, first);
  landing.begin(first);
  for (std::int64_t r = 0; r < task.size; ++r) {
    Complex<T> row[kVectors<T>];
#pragma GCC unroll 4
    for (int i = 0; i < kVectors<T>; ++i)
      row[i] = use_wave<T, Moved>(strip, patch, probe, sum, r, i * kLanes<T>);
    landing.template add<How>(r, row);
  }
  const Complex<T> none[kVectors<T>] = {};
  if constexpr (How != Way::whole) landing.template add<How>(task.size, none);
  return landing.slopes;
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

/// Second half of the way back, and its use for canvas and probe.
template <class T, bool Moved, Way How>
inline void receive(const LossTask<T>& task, ThreadState<T>& state, Landing<T>& landing,
                    double* place_gradient) {
  const Strip<T> strip{state.strip};
  for (std::int64_t mode = 0; mode < task.modes; ++mode) {
    const ModeBuffers<T> own = mode_buffers(task, state, mode);
    for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
      fetch_strip(task.fft, own.wave, first, strip);
      landing.slopes = use_strip<T, Moved, How>(task, state, own, first, landing);
      if constexpr (Moved) {
        send_strip(task.fft, strip, first, own.wave);
      }
    }
    if constexpr (How != Way::whole) landing.end(task);
    if constexpr (Moved) add_moved_gradient(task, state, mode, place_gradient + 2);
  }
}

/// The way home of one pattern: gradients of canvas, probe and place.
template <class T>
inline void come_home(const LossTask<T>& task, const Spot<T>& spot, const Canvas<T>& canvas,
                      const Canvas<T>& gradient, ThreadState<T>& state, double* place_gradient) {
  Landing<T> landing(spot, canvas, gradient, state.carry);
  if (task.moved_probe) return receive<T, true, Way::whole>(task, state, landing, place_gradient);
  if (!task.want_place)
    return spot.whole ? receive<T, false, Way::whole>(task, state, landing, place_gradient)
                      : receive<T, false, Way::between>(task, state, landing, place_gradient);
  receive<T, false, Way::with_slopes>(task, state, landing, place_gradient);
  place_gradient[0] += lane_sum<T>(landing.slopes.row);
  place_gradient[1] += lane_sum<T>(landing.slopes.col);
}

template <class T>
void pattern(const LossTask<T>& task, const Place& place, const T* counts, const Canvas<T>& canvas,
             const Canvas<T>& gradient, ThreadState<T>& state, double* place_gradient) {
  const Spot<T> spot(place);
  if (task.moved_probe) move_probe(task, place, state);
  send(task, state, [&](std::int64_t first) { see_strip(task, canvas, spot, first, state.patch); });
  for (int i = 0; task.want_gradient && i < 4; ++i) place_gradient[i] = 0;
  meet(task, counts, state, task.want_gradient ? place_gradient + 2 : nullptr);
  if (task.want_gradient) come_home(task, spot, canvas, gradient, state, place_gradient);
}

}  // namespace ptyche::cpu::PTYCHE_ISA
