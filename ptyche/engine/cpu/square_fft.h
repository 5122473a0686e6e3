// Two-dimensional FFTs as passes over strips: down the columns, turn, down the columns again.
#pragma once

#include "ptyche/engine/cpu/loss_task.h"
#include "ptyche/engine/cpu/strip_fft.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// The strip of columns first.. of striped planes.
template <class T>
inline Strip<T> strip_of(Planes<T> planes, std::int64_t size, std::int64_t first) {
  return {planes.re + first * size, planes.im + first * size};
}

/// Place of row `row` and column `column` (a multiple of the lanes) in a striped plane.
template <class T>
inline std::int64_t striped(std::int64_t size, std::int64_t row, std::int64_t column) {
  return column / kStrip<T> * kStrip<T> * size + row * kStrip<T> + column % kStrip<T>;
}

/// One square of lanes x lanes turned on its way out of a strip, or what is left of it at the edge.
template <class T, bool Whole>
inline void store_square(const T* strip, const std::int64_t* position, std::int64_t frequencies,
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
inline void load_square(const T* from, const std::int64_t* position, std::int64_t frequencies,
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
inline void store_turned(const T* strip, const FftTables<T>& fft, std::int64_t first, T* to) {
  for (std::int64_t f = 0; f < fft.size; f += kLanes<T>)
    for (std::int64_t column = 0; column < kStrip<T>; column += kLanes<T>) {
      const std::int64_t rows = fft.size - first - column, frequencies = fft.size - f;
      T* at = to + striped<T>(fft.size, first + column, f);
      if (rows >= kLanes<T> && frequencies >= kLanes<T>)
        store_square<T, true>(strip + column, fft.position + f, frequencies, rows, at);
      else
        store_square<T, false>(strip + column, fft.position + f, frequencies, rows, at);
    }
}

/// The adjoint way: rows first.. of a striped plane into a strip, ready for backward_fft.
template <class T>
inline void load_turned(const T* from, const FftTables<T>& fft, std::int64_t first, T* strip) {
  for (std::int64_t f = 0; f < fft.size; f += kLanes<T>)
    for (std::int64_t column = 0; column < kStrip<T>; column += kLanes<T>) {
      const std::int64_t rows = fft.size - first - column, frequencies = fft.size - f;
      const T* at = from + striped<T>(fft.size, first + column, f);
      if (rows >= kLanes<T> && frequencies >= kLanes<T>)
        load_square<T, true>(at, fft.position + f, frequencies, rows, strip + column);
      else
        load_square<T, false>(at, fft.position + f, frequencies, rows, strip + column);
    }
}

/// First half of a transform: the strip, columns first.. in real space, into its rows of `to`.
template <class T>
[[gnu::always_inline]] inline void send_strip(const FftTables<T>& fft, Strip<T> strip,
                                              std::int64_t first, Planes<T> to) {
  forward_fft(strip, fft);
  store_turned(strip.re, fft, first, to.re);
  store_turned(strip.im, fft, first, to.im);
}

/// The adjoint of send_strip: the last half of the way back.
template <class T>
[[gnu::always_inline]] inline void fetch_strip(const FftTables<T>& fft, Planes<T> from,
                                               std::int64_t first, Strip<T> strip) {
  load_turned(from.re, fft, first, strip.re);
  load_turned(from.im, fft, first, strip.im);
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
void to_turned(const FftTables<T>& fft, std::int64_t stride, Planes<T> from, Planes<T> to,
               T scale) {
  for (std::int64_t first = 0; first < stride; first += kStrip<T>) {
    const Strip<T> strip = strip_of(from, fft.size, first);
    send_strip(fft, strip, first, to);
  }
  for (std::int64_t first = 0; first < stride; first += kStrip<T>)
    forward_fft(strip_of(to, fft.size, first), fft);
  scale_planes(to, fft.size * stride, scale);
}

template <class T>
void to_natural(const FftTables<T>& fft, std::int64_t stride, Planes<T> from, Planes<T> to,
                T scale) {
  for (std::int64_t first = 0; first < stride; first += kStrip<T>)
    backward_fft(strip_of(from, fft.size, first), fft);
  for (std::int64_t first = 0; first < stride; first += kStrip<T>) {
    const Strip<T> strip = strip_of(to, fft.size, first);
    fetch_strip(fft, from, first, strip);
  }
  scale_planes(to, fft.size * stride, scale);
}

}  // namespace ptyche::cpu::PTYCHE_ISA
