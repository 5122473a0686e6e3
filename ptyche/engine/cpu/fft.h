// FFTs of the kernels: butterflies and stages down the columns of a strip (kStrip columns, re and
// im apart, all in L1), and two-dimensional transforms as passes over strips: down the columns,
// transpose, down the columns again.
#pragma once

#include "ptyche/engine/cpu/kernels.h"
#include "ptyche/engine/cpu/simd.h"

namespace ptyche::cpu::PTYCHE_ISA {

template <class T>
struct Complex {
  Vector<T> re, im;
};

template <class T>
inline Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}

template <class T>
inline Complex<T> operator-(Complex<T> a, Complex<T> b) {
  return {a.re - b.re, a.im - b.im};
}

/// a times the number (c, s), or its conjugate.
template <class T, bool Conjugate>
inline Complex<T> mul_twiddle(Complex<T> a, T c, T s) {
  if constexpr (Conjugate)
    return {a.re * c + a.im * s, a.im * c - a.re * s};
  else
    return {a.re * c - a.im * s, a.im * c + a.re * s};
}

// A strip is a pair of planes whose row r begins at r * kStrip.

template <class T>
inline Complex<T> get(Planes<T> strip, std::int64_t row, int column) {
  const std::int64_t at = row * kStrip<T> + column;
  return {load(strip.re + at), load(strip.im + at)};
}
template <class T>
inline void set(Planes<T> strip, std::int64_t row, int column, Complex<T> value) {
  const std::int64_t at = row * kStrip<T> + column;
  store(strip.re + at, value.re);
  store(strip.im + at, value.im);
}

/// cos and sin of 2 pi k / Radix, k = 1..(Radix - 1) / 2.
template <int Radix>
struct HalfRoots;
template <>
struct HalfRoots<5> {
  static constexpr double cosine[] = {0.30901699437494742410, -0.80901699437494742410};
  static constexpr double sine[] = {0.95105651629515357212, 0.58778525229247312917};
};
template <>
struct HalfRoots<7> {
  static constexpr double cosine[] = {0.62348980185873353053, -0.22252093395631440429,
                                      -0.90096886790241912624};
  static constexpr double sine[] = {0.78183148246802980871, 0.97492791218182360702,
                                    0.43388373911755812048};
};

/// DFT of an odd number of values in place: x[k] and x[Radix - k] enter as sum and difference,
/// frequencies q and Radix - q differ by the sign of what the differences give.
template <class T, int Radix, bool Inverse>
inline void odd_dft(Complex<T>* x) {
  constexpr int half = (Radix - 1) / 2;
  const Complex<T> first = x[0];
  Complex<T> sum[half], difference[half];
#pragma GCC unroll 3
  for (int k = 0; k < half; ++k) {
    sum[k] = x[k + 1] + x[Radix - 1 - k];
    difference[k] = x[k + 1] - x[Radix - 1 - k];
    x[0] = x[0] + sum[k];
  }
#pragma GCC unroll 3
  for (int q = 1; q <= half; ++q) {
    Complex<T> even = first, odd{};
#pragma GCC unroll 3
    for (int k = 1; k <= half; ++k) {
      const int power = q * k % Radix, root = (power <= half ? power : Radix - power) - 1;
      const T c = static_cast<T>(HalfRoots<Radix>::cosine[root]);
      const T s = static_cast<T>((power <= half) == Inverse ? -HalfRoots<Radix>::sine[root]
                                                            : HalfRoots<Radix>::sine[root]);
      even = {even.re + c * sum[k - 1].re, even.im + c * sum[k - 1].im};
      odd = {odd.re + s * difference[k - 1].im, odd.im - s * difference[k - 1].re};
    }
    x[q] = even + odd;
    x[Radix - q] = even - odd;
  }
}

/// DFT of the `Radix` values in place; the conjugate of it if Inverse.
template <class T, int Radix, bool Inverse>
inline void small_dft(Complex<T>* x) {
  if constexpr (Radix >= 5) {
    odd_dft<T, Radix, Inverse>(x);
  } else if constexpr (Radix == 2) {
    const Complex<T> a = x[0], b = x[1];
    x[0] = a + b;
    x[1] = a - b;
  } else if constexpr (Radix == 3) {
    constexpr T half_root = static_cast<T>(0.86602540378443864676);
    const Complex<T> sum = x[1] + x[2], difference = x[1] - x[2];
    const Complex<T> middle = {x[0].re - static_cast<T>(0.5) * sum.re,
                               x[0].im - static_cast<T>(0.5) * sum.im};
    const T sign = Inverse ? -half_root : half_root;
    const Complex<T> side = {difference.im * sign, -(difference.re * sign)};
    x[0] = x[0] + sum;
    x[1] = middle + side;
    x[2] = middle - side;
  } else {
    static_assert(Radix == 4);
    const Complex<T> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = x[1] - x[3];
    const Complex<T> side = Inverse ? Complex<T>{-d.im, d.re} : Complex<T>{d.im, -d.re};
    x[0] = a + c;
    x[2] = a - c;
    x[1] = b + side;
    x[3] = b - side;
  }
}

/// One stage on blocks of `length` rows. Where a block has only `Radix` rows (Last), all twiddle
/// factors are 1.
template <class T, int Radix, bool Inverse, bool Last>
inline void stage(Planes<T> strip, std::int64_t size, std::int64_t length, const T* twiddles) {
  const std::int64_t step = Last ? 1 : length / Radix;
  for (std::int64_t j = 0; j < step; ++j) {
    T c[Radix], s[Radix];
    for (int q = 1; q < Radix; ++q) {
      c[q] = twiddles[(j * (Radix - 1) + q - 1) * 2];
      s[q] = twiddles[(j * (Radix - 1) + q - 1) * 2 + 1];
    }
    for (std::int64_t row = j; row < size; row += length)
#pragma GCC unroll 8
      for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
        Complex<T> x[Radix];
        for (int q = 0; q < Radix; ++q) x[q] = get(strip, row + q * step, column);
        if constexpr (Inverse && !Last)
          for (int q = 1; q < Radix; ++q) x[q] = mul_twiddle<T, true>(x[q], c[q], s[q]);
        small_dft<T, Radix, Inverse>(x);
        if constexpr (!Inverse && !Last)
          for (int q = 1; q < Radix; ++q) x[q] = mul_twiddle<T, false>(x[q], c[q], s[q]);
        for (int q = 0; q < Radix; ++q) set(strip, row + q * step, column, x[q]);
      }
  }
}

template <class T, int Radix, bool Inverse>
inline void stage(Planes<T> strip, std::int64_t size, std::int64_t length, const T* twiddles) {
  if (length == Radix)
    stage<T, Radix, Inverse, true>(strip, size, length, twiddles);
  else
    stage<T, Radix, Inverse, false>(strip, size, length, twiddles);
}

/// Any radix by its definition; `roots` (radix) pairs.
template <class T, bool Inverse>
inline void any_stage(Planes<T> strip, std::int64_t size, std::int64_t length, std::int64_t radix,
                      const T* twiddles, const T* roots) {
  const std::int64_t step = length / radix;
  Complex<T> x[kLargestRadix];
  for (std::int64_t j = 0; j < step; ++j)
    for (std::int64_t row = j; row < size; row += length)
      for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
        const T* w = twiddles + j * 2 * (radix - 1);
        for (std::int64_t q = 0; q < radix; ++q) {
          x[q] = get(strip, row + q * step, column);
          if (Inverse && q > 0) x[q] = mul_twiddle<T, true>(x[q], w[2 * q - 2], w[2 * q - 1]);
        }
        for (std::int64_t q = 0; q < radix; ++q) {
          Complex<T> y = x[0];
          for (std::int64_t s = 1, turn = q; s < radix; ++s) {
            y = y + mul_twiddle<T, Inverse>(x[s], roots[2 * turn], roots[2 * turn + 1]);
            turn += turn + q < radix ? q : q - radix;
          }
          if (!Inverse && q > 0) y = mul_twiddle<T, false>(y, w[2 * q - 2], w[2 * q - 1]);
          set(strip, row + q * step, column, y);
        }
      }
}

template <class T, bool Inverse>
inline void any_radix_stage(Planes<T> strip, std::int64_t size, std::int64_t length,
                            const FftStage<T>& of) {
  switch (of.radix) {
    case 2:
      return stage<T, 2, Inverse>(strip, size, length, of.twiddles);
    case 3:
      return stage<T, 3, Inverse>(strip, size, length, of.twiddles);
    case 4:
      return stage<T, 4, Inverse>(strip, size, length, of.twiddles);
    case 5:
      return stage<T, 5, Inverse>(strip, size, length, of.twiddles);
    case 7:
      return stage<T, 7, Inverse>(strip, size, length, of.twiddles);
    default:
      return any_stage<T, Inverse>(strip, size, length, of.radix, of.twiddles, of.roots);
  }
}

// Inlined at every call: as functions of their own the transforms take a fifth longer.

/// Down every column: rows in row-major order -> frequencies in the order of the tables, unscaled.
template <class T>
[[gnu::always_inline]] inline void forward_fft(Planes<T> strip, const FftTables<T>& fft) {
  std::int64_t length = fft.size;
  for (int i = 0; i < fft.stages; ++i) {
    any_radix_stage<T, false>(strip, fft.size, length, fft.stage[i]);
    length /= fft.stage[i].radix;
  }
}

/// The adjoint of forward_fft, `size` times its inverse.
template <class T>
[[gnu::always_inline]] inline void backward_fft(Planes<T> strip, const FftTables<T>& fft) {
  std::int64_t length = 1;
  for (int i = fft.stages - 1; i >= 0; --i) {
    length *= fft.stage[i].radix;
    any_radix_stage<T, true>(strip, fft.size, length, fft.stage[i]);
  }
}

/// The strip of columns first.. of striped planes.
template <class T>
inline Planes<T> strip_of(Planes<T> planes, std::int64_t size, std::int64_t first) {
  return {planes.re + first * size, planes.im + first * size};
}

/// PatchPosition of row `row` and column `column` (a multiple of the lanes) in a striped plane.
template <class T>
inline std::int64_t striped(std::int64_t size, std::int64_t row, std::int64_t column) {
  return column / kStrip<T> * kStrip<T> * size + row * kStrip<T> + column % kStrip<T>;
}

/// One square of lanes x lanes transposed on its way out of a strip, or what is left of it at the
/// edge.
template <class T, bool Whole>
inline void store_tile(const T* strip, const std::int64_t* position, std::int64_t frequencies,
                       std::int64_t rows, T* to) {
  constexpr int lanes = kLanes<T>;
  Vector<T> block[lanes];
  for (int i = 0; i < lanes; ++i)
    block[i] = load(strip + position[Whole || i < frequencies ? i : 0] * kStrip<T>);
  transpose<T>(block);
  for (int i = 0; i < lanes; ++i)
    if (Whole || i < rows) store(to + i * kStrip<T>, block[i]);
}

template <class T, bool Whole>
inline void load_tile(const T* from, const std::int64_t* position, std::int64_t frequencies,
                      std::int64_t rows, T* strip) {
  constexpr int lanes = kLanes<T>;
  Vector<T> block[lanes];
  for (int i = 0; i < lanes; ++i)
    block[i] = Whole || i < rows ? load(from + i * kStrip<T>) : Vector<T>{};
  transpose<T>(block);
  for (int i = 0; i < lanes; ++i)
    if (Whole || i < frequencies) store(strip + position[i] * kStrip<T>, block[i]);
}

/// Writes a strip after forward_fft into columns -> rows first.. of the striped plane `to`,
/// frequencies in order.
template <class T>
inline void store_transposed(const T* strip, const FftTables<T>& fft, std::int64_t first, T* to) {
  for (std::int64_t f = 0; f < fft.size; f += kLanes<T>)
    for (std::int64_t column = 0; column < kStrip<T>; column += kLanes<T>) {
      const std::int64_t rows = fft.size - first - column, frequencies = fft.size - f;
      T* at = to + striped<T>(fft.size, first + column, f);
      if (rows >= kLanes<T> && frequencies >= kLanes<T>)
        store_tile<T, true>(strip + column, fft.position + f, frequencies, rows, at);
      else
        store_tile<T, false>(strip + column, fft.position + f, frequencies, rows, at);
    }
}

/// The adjoint way: rows first.. of a striped plane into a strip, ready for backward_fft.
template <class T>
inline void load_transposed(const T* from, const FftTables<T>& fft, std::int64_t first, T* strip) {
  for (std::int64_t f = 0; f < fft.size; f += kLanes<T>)
    for (std::int64_t column = 0; column < kStrip<T>; column += kLanes<T>) {
      const std::int64_t rows = fft.size - first - column, frequencies = fft.size - f;
      const T* at = from + striped<T>(fft.size, first + column, f);
      if (rows >= kLanes<T> && frequencies >= kLanes<T>)
        load_tile<T, true>(at, fft.position + f, frequencies, rows, strip + column);
      else
        load_tile<T, false>(at, fft.position + f, frequencies, rows, strip + column);
    }
}

/// First half of a transform: the strip, columns first.. in real space, into its rows of `to`.
template <class T>
[[gnu::always_inline]] inline void fft_strip_transposed(const FftTables<T>& fft, Planes<T> strip,
                                                        std::int64_t first, Planes<T> to) {
  forward_fft(strip, fft);
  store_transposed(strip.re, fft, first, to.re);
  store_transposed(strip.im, fft, first, to.im);
}

/// The adjoint of fft_strip_transposed: the last half of the way back.
template <class T>
[[gnu::always_inline]] inline void ifft_strip_transposed(const FftTables<T>& fft, Planes<T> from,
                                                         std::int64_t first, Planes<T> strip) {
  load_transposed(from.re, fft, first, strip.re);
  load_transposed(from.im, fft, first, strip.im);
  backward_fft(strip, fft);
}

/// Multiplies striped planes.
template <class T>
inline void scale_planes(Planes<T> planes, std::int64_t numbers, T factor) {
  for (std::int64_t i = 0; i < numbers; i += kLanes<T>) {
    store(planes.re + i, load(planes.re + i) * factor);
    store(planes.im + i, load(planes.im + i) * factor);
  }
}

template <class T>
void fft2_transposed(const FftTables<T>& fft, std::int64_t stride, Planes<T> from, Planes<T> to,
                     T scale) {
  for (std::int64_t first = 0; first < stride; first += kStrip<T>) {
    const Planes<T> strip = strip_of(from, fft.size, first);
    fft_strip_transposed(fft, strip, first, to);
  }
  for (std::int64_t first = 0; first < stride; first += kStrip<T>)
    forward_fft(strip_of(to, fft.size, first), fft);
  scale_planes(to, fft.size * stride, scale);
}

template <class T>
void ifft2_transposed(const FftTables<T>& fft, std::int64_t stride, Planes<T> from, Planes<T> to,
                      T scale) {
  for (std::int64_t first = 0; first < stride; first += kStrip<T>)
    backward_fft(strip_of(from, fft.size, first), fft);
  for (std::int64_t first = 0; first < stride; first += kStrip<T>) {
    const Planes<T> strip = strip_of(to, fft.size, first);
    ifft_strip_transposed(fft, from, first, strip);
  }
  scale_planes(to, fft.size * stride, scale);
}

}  // namespace ptyche::cpu::PTYCHE_ISA
