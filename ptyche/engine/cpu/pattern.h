// One pattern: canvas -> patch -> exit wave -> detector -> loss, and back, strip by strip.
//
// Two FFTs per mode and direction would pass over memory eight times; here the exit wave is formed,
// transformed, compared, transformed back and used up while its strip is in the first cache.
#pragma once

#include "ptyche/engine/cpu/detector.h"
#include "ptyche/engine/cpu/gather_scatter.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// The planes of one mode, all striped.
template <class T>
inline Planes<T> wave_of(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                         std::int64_t mode) {
  return planes_of(context, scratch.waves, mode);
}
template <class T>
inline Planes<T> probe_of(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                          std::int64_t mode) {
  return planes_of(context, scratch.probe, mode);
}
template <class T>
inline Planes<T> probe_gradient_of(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                                   std::int64_t mode) {
  return planes_of(context, scratch.probe_gradient, mode);
}

/// strip = a b for columns first.. of two row-major images.
template <class T>
inline void multiply_strip(Planes<T> a, Planes<T> b, std::int64_t size, std::int64_t first,
                           Planes<T> strip) {
  const std::int64_t begin = first * size, count = size * kStrip<T>;
  for (std::int64_t i = 0; i < count; i += kLanes<T>) {
    const Vector<T> ar = load(a.re + begin + i), ai = load(a.im + begin + i);
    const Vector<T> br = load(b.re + begin + i), bi = load(b.im + begin + i);
    store(strip.re + i, ar * br - ai * bi);
    store(strip.im + i, ar * bi + ai * br);
  }
}

/// Counts (row, col) -> columns first.. of a row-major plane.
template <class T>
inline void copy_counts(const KernelContext<T>& context, const T* counts, std::int64_t first,
                        T* to) {
  const std::int64_t left = context.size - first, columns = left < kStrip<T> ? left : kStrip<T>;
  for (std::int64_t r = 0; r < context.size; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      to[r * kStrip<T> + c] = counts[r * context.size + first + c];
}

/// Counts (row, col) -> columns first.. (rows of the counts) of a transposed plane.
template <class T>
inline void transpose_counts(const KernelContext<T>& context, const T* counts, std::int64_t first,
                             T* to) {
  constexpr int lanes = kLanes<T>;
  const std::int64_t left = context.size - first, rows = left < kStrip<T> ? left : kStrip<T>;
  const std::int64_t whole_rows = rows / lanes * lanes, whole = context.size / lanes * lanes;
  const T* from = counts + first * context.size;
  for (std::int64_t r = 0; r < whole_rows; r += lanes)
    for (std::int64_t c = 0; c < whole; c += lanes) {
      Vector<T> block[lanes];
      for (int i = 0; i < lanes; ++i) block[i] = load(from + (r + i) * context.size + c);
      transpose<T>(block);
      for (int i = 0; i < lanes; ++i)
        store(to + context.fft.position[c + i] * kStrip<T> + r, block[i]);
    }
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = r < whole_rows ? whole : 0; c < context.size; ++c)
      to[context.fft.position[c] * kStrip<T> + r] = from[r * context.size + c];
}

/// Counts (N, N) in FFT order -> the strip first.. of a plane at the detector.
template <class T>
inline void load_counts(const KernelContext<T>& context, const T* counts, std::int64_t first,
                        T* to) {
  context.transfer.re ? copy_counts(context, counts, first, to)
                      : transpose_counts(context, counts, first, to);
}

/// The strip first.. of a plane at the detector -> counts (N, N) in FFT order.
template <class T>
inline void store_counts(const KernelContext<T>& context, const T* from, std::int64_t first,
                         T* counts) {
  const std::int64_t left = context.size - first, columns = left < kStrip<T> ? left : kStrip<T>;
  const bool near = context.transfer.re != nullptr;
  for (std::int64_t r = 0; r < context.size; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      counts[near ? r * context.size + first + c
                  : (first + c) * context.size + context.fft.order[r]] = from[r * kStrip<T> + c];
}

/// The probe's modes, moved by the position's shift, into their planes.
template <class T>
inline void fourier_shift_probe(const KernelContext<T>& context, const PatchPosition& position,
                                ThreadScratch<T>& scratch) {
  fill_phases(context, position, scratch.phases);
  for (std::int64_t mode = 0; mode < context.modes; ++mode) {
    for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
      const Planes<T> from = strip_of(planes_of(context, context.probe, mode), context.size, first);
      const Planes<T> to = strip_of(wave_of(context, scratch, mode), context.size, first);
      for (std::int64_t p = 0; p < context.size; ++p)
        for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
          const Complex<T> x = get(from, p, column);
          const Complex<T> w = phase_at(context, scratch.phases, p, first + column);
          set(to, p, column, {x.re * w.re - x.im * w.im, x.re * w.im + x.im * w.re});
        }
      backward_fft(to, context.fft);
    }
    for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
      const Planes<T> strip = strip_of(probe_of(context, scratch, mode), context.size, first);
      ifft_strip_transposed(context.fft, wave_of(context, scratch, mode), first, strip);
    }
  }
}

/// Exit waves, first half of their transform: row-major planes -> `wave`, transposed half way.
/// gather(first) fills the patch's strip first.., if it is not filled yet.
template <class T, class Gather>
inline void forward_exit_waves(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                               const Gather& gather) {
  const Planes<T> strip = scratch.strip;
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    gather(first);
    for (std::int64_t mode = 0; mode < context.modes; ++mode) {
      multiply_strip(probe_of(context, scratch, mode), scratch.patch, context.size, first, strip);
      fft_strip_transposed(context.fft, strip, first, wave_of(context, scratch, mode));
    }
  }
}

/// One vector of a strip of the exit wave's gradient: conj(probe) strip, the patch's, is returned;
/// conj(patch) strip, the probe's as this pattern saw it, is added to its plane, or, where the
/// probe is moved, left in the strip.
template <class T, bool Moved>
inline Complex<T> wave_gradient(Planes<T> strip, Planes<T> patch, Planes<T> probe, Planes<T> sum,
                                std::int64_t r, int column) {
  const Complex<T> x = get(strip, r, column);
  const Complex<T> by_probe = conjugate_product(get(patch, r, column), x);
  if constexpr (Moved)
    set(strip, r, column, by_probe);
  else
    set(sum, r, column, get(sum, r, column) + by_probe);
  return conjugate_product(get(probe, r, column), x);
}

/// A strip of the exit wave's gradient, all of it used: for the probe, and for the canvas. The
/// scatter state is a copy, which stays in registers; its sums are returned.
template <class T, bool Moved, Sampling kSampling>
inline PositionSlopes<T> strip_gradient(const KernelContext<T>& context,
                                        const ThreadScratch<T>& scratch, std::int64_t mode,
                                        std::int64_t first, BilinearScatter<T> scatter) {
  const Planes<T> strip = scratch.strip,
                  probe = strip_of(probe_of(context, scratch, mode), context.size, first);
  const Planes<T> patch = strip_of(scratch.patch, context.size, first);
  const Planes<T> sum = strip_of(probe_gradient_of(context, scratch, mode), context.size, first);
  scatter.begin(first);
  for (std::int64_t r = 0; r < context.size; ++r) {
    Complex<T> row[kVectors<T>];
#pragma GCC unroll 4
    for (int i = 0; i < kVectors<T>; ++i)
      row[i] = wave_gradient<T, Moved>(strip, patch, probe, sum, r, i * kLanes<T>);
    scatter.template add<kSampling>(r, row);
  }
  const Complex<T> none[kVectors<T>] = {};
  if constexpr (kSampling != Sampling::whole) scatter.template add<kSampling>(context.size, none);
  return scatter.slopes;
}

/// Second half of the gradient of a moved probe: `wave` holds its transform half way. Adds it to
/// the transposed probe gradient and its slope to gradient[0], [1] (row, col of the shift).
template <class T>
inline void add_moved_gradient(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                               std::int64_t mode, double* gradient) {
  double by_row = 0, by_col = 0;
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    const Planes<T> strip = strip_of(wave_of(context, scratch, mode), context.size, first);
    const Planes<T> spectrum =
        strip_of(planes_of(context, context.probe, mode), context.size, first);
    const Planes<T> sum = strip_of(probe_gradient_of(context, scratch, mode), context.size, first);
    forward_fft(strip, context.fft);
    Vector<T> row_sum{};
    for (std::int64_t p = 0; p < context.size; ++p) {
      Vector<T> slopes{};
      for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
        const Complex<T> phase = phase_at(context, scratch.phases, p, first + column);
        const Complex<T> back = conjugate_product(phase, get(strip, p, column));
        set(sum, p, column, get(sum, p, column) + back);
        add_slope(context, back, get(spectrum, p, column), first + column, row_sum, slopes);
      }
      by_col +=
          lane_sum<T>(slopes) * static_cast<double>(context.frequencies[context.fft.order[p]]);
    }
    by_row += lane_sum<T>(row_sum);
  }
  gradient[0] += 6.283185307179586477 * by_row;
  gradient[1] += 6.283185307179586477 * by_col;
}

/// Second half of the way back, and its use for canvas and probe.
template <class T, bool Moved, Sampling kSampling>
inline void backward_exit_waves(const KernelContext<T>& context, ThreadScratch<T>& scratch,
                                BilinearScatter<T>& scatter, double* position_gradient) {
  const Planes<T> strip = scratch.strip;
  for (std::int64_t mode = 0; mode < context.modes; ++mode) {
    for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
      ifft_strip_transposed(context.fft, wave_of(context, scratch, mode), first, strip);
      scatter.slopes = strip_gradient<T, Moved, kSampling>(context, scratch, mode, first, scatter);
      if constexpr (Moved) {
        fft_strip_transposed(context.fft, strip, first, wave_of(context, scratch, mode));
      }
    }
    if constexpr (kSampling != Sampling::whole) scatter.end(context);
    if constexpr (Moved) add_moved_gradient(context, scratch, mode, position_gradient + 2);
  }
}

/// From the detector back: gradients of canvas, probe and position.
template <class T>
inline void backward(const KernelContext<T>& context, const PatchPosition& position,
                     const Planes<T>& canvas, const Planes<T>& gradient, ThreadScratch<T>& scratch,
                     double* position_gradient) {
  BilinearScatter<T> scatter(position, canvas, gradient, scratch.carry);
  if (context.moved_probe)
    return backward_exit_waves<T, true, Sampling::whole>(context, scratch, scatter,
                                                         position_gradient);
  if (!context.want_position)
    return is_whole<T>(position) ? backward_exit_waves<T, false, Sampling::whole>(
                                       context, scratch, scatter, position_gradient)
                                 : backward_exit_waves<T, false, Sampling::bilinear>(
                                       context, scratch, scatter, position_gradient);
  backward_exit_waves<T, false, Sampling::with_slopes>(context, scratch, scatter,
                                                       position_gradient);
  position_gradient[0] += lane_sum<T>(scatter.slopes.row);
  position_gradient[1] += lane_sum<T>(scatter.slopes.col);
}

/// The pattern's exit waves, half transformed; each(first) after every strip of the patch, which is
/// in the nearest cache then.
template <class T, class Each>
inline void exit_waves(const KernelContext<T>& context, const PatchPosition& position,
                       const Planes<T>& canvas, ThreadScratch<T>& scratch, const Each& each) {
  if (context.moved_probe) fourier_shift_probe(context, position, scratch);
  forward_exit_waves(context, scratch, [&](std::int64_t first) {
    gather_strip(context, canvas, position, first, scratch.patch);
    each(first);
  });
}

template <class T>
inline void exit_waves(const KernelContext<T>& context, const PatchPosition& position,
                       const Planes<T>& canvas, ThreadScratch<T>& scratch) {
  exit_waves(context, position, canvas, scratch, [](std::int64_t) {});
}

/// See Kernels::pattern_intensity.
template <class T>
void pattern_intensity(const KernelContext<T>& context, const PatchPosition& position,
                       const Planes<T>& canvas, ThreadScratch<T>& scratch, T* to) {
  exit_waves(context, position, canvas, scratch);
  at_detector(context, scratch, false, nullptr, [&](const T* waves, std::int64_t first) {
    expected_strip(context, waves, first, static_cast<T>(position.intensity), scratch.counts);
    store_counts(context, scratch.counts, first, to);
  });
}

/// Loss and gradients of one pattern, see Kernels::pattern_loss.
template <class T>
void pattern_loss(const KernelContext<T>& context, const PatchPosition& position, const T* counts,
                  const Planes<T>& canvas, const Planes<T>& gradient, ThreadScratch<T>& scratch,
                  double* position_gradient) {
  exit_waves(context, position, canvas, scratch);
  const bool back = context.want_gradient;
  for (int i = 0; back && i < 4; ++i) position_gradient[i] = 0;
  scratch.intensity_slope = 0;
  at_detector(context, scratch, back, back ? position_gradient + 2 : nullptr,
              [&](T* waves, std::int64_t first) {
                load_counts(context, counts, first, scratch.counts);
                detector_loss(context, waves, first, static_cast<T>(position.intensity), scratch);
              });
  if (back) backward(context, position, canvas, gradient, scratch, position_gradient);
}

}  // namespace ptyche::cpu::PTYCHE_ISA
