// From the exit waves, half transformed, to the waves that the detector counts, and back: in the
// far field the other half of the transform, in the near field also a transfer function and a
// transform home.
#pragma once

#include "ptyche/engine/cpu/square_fft.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// Phase factors exp(-2 pi i f d) by row and by column: powers of that of the lowest frequency,
/// and their conjugates.
template <class T>
inline void fill_phases(const LossTask<T>& task, const Place& place, T* phases) {
  const double shift[2] = {place.row_shift, place.col_shift};
  const std::int64_t size = task.size;
  for (int axis = 0; axis < 2; ++axis) {
    T *cosine = phases + 2 * axis * task.stride, *sine = cosine + task.stride;
    const double angle = -6.283185307179586477 * shift[axis] / static_cast<double>(size);
    const double c = __builtin_cos(angle), s = __builtin_sin(angle);
    double re = 1, im = 0;
    for (std::int64_t f = 0; 2 * f <= size; ++f) {
      cosine[(size - f) % size] = static_cast<T>(re);
      sine[(size - f) % size] = static_cast<T>(-im);
      if (2 * f < size) {
        cosine[f] = static_cast<T>(re);
        sine[f] = static_cast<T>(im);
      }
      const double next = re * c - im * s;
      im = re * s + im * c;
      re = next;
    }
  }
}

/// The phase factor of row p and columns at.. of a turned plane.
template <class T>
inline Complex<T> phase_at(const LossTask<T>& task, const T* phases, std::int64_t p,
                           std::int64_t at) {
  const std::int64_t q = task.fft.order[p];
  const Complex<T> row = {load(phases + at), load(phases + task.stride + at)};
  return turn<T, false>(row, phases[2 * task.stride + q], phases[3 * task.stride + q]);
}

/// conj(a) b
template <class T>
inline Complex<T> conjugate_product(Complex<T> a, Complex<T> b) {
  return {a.re * b.re + a.im * b.im, a.re * b.im - a.im * b.re};
}

template <class T>
inline Complex<T> product(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/// Im(conj(g) s): the slope of Re(conj(g) s exp(-i angle)) by the angle, summed over a row (by_col,
/// times that row's frequency later) and, times the frequencies at.., over everything (by_row).
template <class T>
inline void add_slope(const LossTask<T>& task, Complex<T> g, Complex<T> s, std::int64_t at,
                      Vector<T>& by_row, Vector<T>& by_col) {
  const Vector<T> slope = g.re * s.im - g.im * s.re;
  by_col += slope;
  by_row += slope * load(task.frequencies + at);
}

/// The planes of mode `mode` in a block of (modes, 2) planes.
template <class T>
inline Planes<T> planes_of(const LossTask<T>& task, T* block, std::int64_t mode) {
  const std::int64_t plane = task.size * task.stride;
  return {block + 2 * mode * plane, block + (2 * mode + 1) * plane};
}

/// What the spectrum of a wave is multiplied with on its way, row p and columns at.. of a turned
/// plane: the transfer function and, where the probe was moved for the object, the whole wave's way
/// back (to_detector.h).
template <class T>
inline Complex<T> transfer_at(const LossTask<T>& task, const ThreadState<T>& state,
                              std::int64_t first, std::int64_t p, int column) {
  const Complex<T> transfer = strip_of(task.transfer, task.size, first).get(p, column);
  if (!task.moved_probe) return transfer;
  return conjugate_product(phase_at(task, state.phases, p, first + column), transfer);
}

/// Near field: `wave`, turned half way, -> `seen`, natural, with N times its amplitude as after one
/// unscaled transform. The spectrum on its way is kept in `spectrum` where that has planes.
template <class T>
inline void travel(const LossTask<T>& task, const ThreadState<T>& state, Planes<T> wave,
                   Planes<T> seen, Planes<T> spectrum) {
  for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
    const Strip<T> strip = strip_of(wave, task.size, first);
    forward_fft(strip, task.fft);
    for (std::int64_t p = 0; p < task.size; ++p)
      for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
        const Complex<T> x =
            product(strip.get(p, column), transfer_at(task, state, first, p, column));
        strip.set(p, column, x);
        if (spectrum.re) strip_of(spectrum, task.size, first).set(p, column, x);
      }
    backward_fft(strip, task.fft);
  }
  for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
    const Strip<T> strip = strip_of(seen, task.size, first);
    fetch_strip(task.fft, wave, first, strip);
  }
}

/// The adjoint of travel; `seen` is destroyed. Where the spectrum was kept, adds the slope of the
/// wave's way back by the shift (row, col) to slope[0..1].
template <class T>
inline void travel_back(const LossTask<T>& task, const ThreadState<T>& state, Planes<T> seen,
                        Planes<T> wave, Planes<T> spectrum, double* slope) {
  for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
    const Strip<T> strip = strip_of(seen, task.size, first);
    send_strip(task.fft, strip, first, wave);
  }
  double by_row = 0, by_col = 0;
  for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
    const Strip<T> strip = strip_of(wave, task.size, first);
    forward_fft(strip, task.fft);
    Vector<T> row_sum{};
    for (std::int64_t p = 0; p < task.size; ++p) {
      Vector<T> slopes{};
      for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
        const Complex<T> g = strip.get(p, column);
        if (spectrum.re)
          add_slope(task, g, strip_of(spectrum, task.size, first).get(p, column), first + column,
                    row_sum, slopes);
        strip.set(p, column, conjugate_product(transfer_at(task, state, first, p, column), g));
      }
      if (spectrum.re)
        by_col += lane_sum<T>(slopes) * static_cast<double>(task.frequencies[task.fft.order[p]]);
    }
    backward_fft(strip, task.fft);
    by_row += lane_sum<T>(row_sum);
  }
  if (!spectrum.re) return;
  slope[0] -= 6.283185307179586477 * by_row;
  slope[1] -= 6.283185307179586477 * by_col;
}

/// meet(waves, first) for each strip first.. of the waves (modes, 2) planes as the detector sees
/// them: turned, or natural in the near field. With `back`, what it leaves there goes half the way
/// home into state.waves; `slope` gets what travel_back adds.
template <class T, class Meet>
inline void at_detector(const LossTask<T>& task, const ThreadState<T>& state, bool back,
                        double* slope, const Meet& meet) {
  const bool near = task.transfer.re != nullptr;
  T* seen = near ? state.seen : state.waves;
  const auto kept = [&](std::int64_t mode) {
    return state.spectrum ? planes_of(task, state.spectrum, mode) : Planes<T>{};
  };
  for (std::int64_t mode = 0; near && mode < task.modes; ++mode)
    travel(task, state, planes_of(task, state.waves, mode), planes_of(task, seen, mode),
           kept(mode));
  for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
    for (std::int64_t mode = 0; !near && mode < task.modes; ++mode)
      forward_fft(strip_of(planes_of(task, seen, mode), task.size, first), task.fft);
    meet(seen, first);
    for (std::int64_t mode = 0; back && !near && mode < task.modes; ++mode)
      backward_fft(strip_of(planes_of(task, seen, mode), task.size, first), task.fft);
  }
  for (std::int64_t mode = 0; back && near && mode < task.modes; ++mode)
    travel_back(task, state, planes_of(task, seen, mode), planes_of(task, state.waves, mode),
                kept(mode), slope);
}

}  // namespace ptyche::cpu::PTYCHE_ISA
