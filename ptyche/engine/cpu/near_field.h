// From the exit waves, half transformed, to the waves that the detector counts, and back: in the
// far field the other half of the transform, in the near field also a transfer function and a
// transform back.
#pragma once

#include "ptyche/engine/cpu/fft.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// Phase factors exp(-2 pi i f d) by row and by column: powers of that of the lowest frequency,
/// and their conjugates.
template <class T>
inline void fill_phases(const KernelContext<T>& context, const PatchPosition& position, T* phases) {
  const double shift[2] = {position.row_shift, position.col_shift};
  const std::int64_t size = context.size;
  for (int axis = 0; axis < 2; ++axis) {
    T *cosine = phases + 2 * axis * context.stride, *sine = cosine + context.stride;
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

/// The phase factor of row p and columns at.. of a transposed plane.
template <class T>
inline Complex<T> phase_at(const KernelContext<T>& context, const T* phases, std::int64_t p,
                           std::int64_t at) {
  const std::int64_t q = context.fft.order[p];
  const Complex<T> row = {load(phases + at), load(phases + context.stride + at)};
  return mul_twiddle<T, false>(row, phases[2 * context.stride + q], phases[3 * context.stride + q]);
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
inline void add_slope(const KernelContext<T>& context, Complex<T> g, Complex<T> s, std::int64_t at,
                      Vector<T>& by_row, Vector<T>& by_col) {
  const Vector<T> slope = g.re * s.im - g.im * s.re;
  by_col += slope;
  by_row += slope * load(context.frequencies + at);
}

/// The planes of mode `mode` in a block of (modes, 2) planes.
template <class T>
inline Planes<T> planes_of(const KernelContext<T>& context, T* block, std::int64_t mode) {
  const std::int64_t plane = context.size * context.stride;
  return {block + 2 * mode * plane, block + (2 * mode + 1) * plane};
}

/// What the spectrum of a wave is multiplied with on its way, row p and columns at.. of a
/// transposed plane: the transfer function and, where the probe was moved for the object, the whole
/// wave's way back (to_detector.h).
template <class T>
inline Complex<T> transfer_at(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                              std::int64_t first, std::int64_t p, int column) {
  const Complex<T> transfer = strip_of(context.transfer, context.size, first).get(p, column);
  if (!context.moved_probe) return transfer;
  return conjugate_product(phase_at(context, scratch.phases, p, first + column), transfer);
}

/// Near field: `wave`, transposed half way, -> `seen`, row-major, with N times its amplitude as
/// after one unscaled transform. The spectrum on its way is kept in `spectrum` where that has
/// planes.
template <class T>
inline void propagate_near_field(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                                 Planes<T> wave, Planes<T> seen, Planes<T> spectrum) {
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    const Strip<T> strip = strip_of(wave, context.size, first);
    forward_fft(strip, context.fft);
    for (std::int64_t p = 0; p < context.size; ++p)
      for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
        const Complex<T> x =
            product(strip.get(p, column), transfer_at(context, scratch, first, p, column));
        strip.set(p, column, x);
        if (spectrum.re) strip_of(spectrum, context.size, first).set(p, column, x);
      }
    backward_fft(strip, context.fft);
  }
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    const Strip<T> strip = strip_of(seen, context.size, first);
    ifft_strip_transposed(context.fft, wave, first, strip);
  }
}

/// The adjoint of propagate_near_field; `seen` is destroyed. Where the spectrum was kept, adds the
/// slope of the wave's way back by the shift (row, col) to slope[0..1].
template <class T>
inline void propagate_near_field_adjoint(const KernelContext<T>& context,
                                         const ThreadScratch<T>& scratch, Planes<T> seen,
                                         Planes<T> wave, Planes<T> spectrum, double* slope) {
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    const Strip<T> strip = strip_of(seen, context.size, first);
    fft_strip_transposed(context.fft, strip, first, wave);
  }
  double by_row = 0, by_col = 0;
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    const Strip<T> strip = strip_of(wave, context.size, first);
    forward_fft(strip, context.fft);
    Vector<T> row_sum{};
    for (std::int64_t p = 0; p < context.size; ++p) {
      Vector<T> slopes{};
      for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
        const Complex<T> g = strip.get(p, column);
        if (spectrum.re)
          add_slope(context, g, strip_of(spectrum, context.size, first).get(p, column),
                    first + column, row_sum, slopes);
        strip.set(p, column, conjugate_product(transfer_at(context, scratch, first, p, column), g));
      }
      if (spectrum.re)
        by_col +=
            lane_sum<T>(slopes) * static_cast<double>(context.frequencies[context.fft.order[p]]);
    }
    backward_fft(strip, context.fft);
    by_row += lane_sum<T>(row_sum);
  }
  if (!spectrum.re) return;
  slope[0] -= 6.283185307179586477 * by_row;
  slope[1] -= 6.283185307179586477 * by_col;
}

/// compare(waves, first) for each strip first.. of the waves (modes, 2) planes as the
/// detector sees them: transposed, or row-major in the near field. With `back`, what it leaves
/// there goes half the way back into scratch.waves; `slope` gets what propagate_near_field_adjoint
/// adds.
template <class T, class Compare>
inline void at_detector(const KernelContext<T>& context, const ThreadScratch<T>& scratch, bool back,
                        double* slope, const Compare& compare) {
  const bool near = context.transfer.re != nullptr;
  T* seen = near ? scratch.seen : scratch.waves;
  const auto kept = [&](std::int64_t mode) {
    return scratch.spectrum ? planes_of(context, scratch.spectrum, mode) : Planes<T>{};
  };
  for (std::int64_t mode = 0; near && mode < context.modes; ++mode)
    propagate_near_field(context, scratch, planes_of(context, scratch.waves, mode),
                         planes_of(context, seen, mode), kept(mode));
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    for (std::int64_t mode = 0; !near && mode < context.modes; ++mode)
      forward_fft(strip_of(planes_of(context, seen, mode), context.size, first), context.fft);
    compare(seen, first);
    for (std::int64_t mode = 0; back && !near && mode < context.modes; ++mode)
      backward_fft(strip_of(planes_of(context, seen, mode), context.size, first), context.fft);
  }
  for (std::int64_t mode = 0; back && near && mode < context.modes; ++mode)
    propagate_near_field_adjoint(context, scratch, planes_of(context, seen, mode),
                                 planes_of(context, scratch.waves, mode), kept(mode), slope);
}

}  // namespace ptyche::cpu::PTYCHE_ISA
