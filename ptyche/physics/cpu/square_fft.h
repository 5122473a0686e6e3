// Two-dimensional FFTs as passes over strips: down the columns, turn, down the columns again.
#pragma once

#include "ptyche/physics/cpu/loss_task.h"
#include "ptyche/physics/cpu/strip_fft.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// Writes a strip after forward_fft into columns -> rows first.. of `to`, frequencies in order.
template <class T>
inline void store_turned(const T* strip, const FftTables<T>& fft, std::int64_t first, T* to,
                         std::int64_t stride) {
  constexpr int lanes = kLanes<T>;
  for (std::int64_t f = 0; f < fft.size; f += lanes)
    for (int column = 0; column < kStrip<T>; column += lanes) {
      Vector<T> block[lanes];
      for (int i = 0; i < lanes; ++i) {
        const std::int64_t frequency = f + i < fft.size ? f + i : f;
        block[i] = load(strip + fft.position[frequency] * kStrip<T> + column);
      }
      transpose<T>(block);
      for (int i = 0; i < lanes; ++i) store(to + (first + column + i) * stride + f, block[i]);
    }
}

/// The adjoint way: rows first.. of `from` into a strip, ready for backward_fft.
template <class T>
inline void load_turned(const T* from, std::int64_t stride, const FftTables<T>& fft,
                        std::int64_t first, T* strip) {
  constexpr int lanes = kLanes<T>;
  for (std::int64_t f = 0; f < fft.size; f += lanes)
    for (int column = 0; column < kStrip<T>; column += lanes) {
      Vector<T> block[lanes];
      for (int i = 0; i < lanes; ++i) block[i] = load(from + (first + column + i) * stride + f);
      transpose<T>(block);
      for (int i = 0; i < lanes && f + i < fft.size; ++i)
        store(strip + fft.position[f + i] * kStrip<T> + column, block[i]);
    }
}

/// Columns first.. of rows 0..N-1 into a strip, and back.
template <class T>
inline void load_columns(const T* from, std::int64_t stride, std::int64_t size, std::int64_t first,
                         T* strip) {
  for (std::int64_t r = 0; r < size; ++r)
    for (int column = 0; column < kStrip<T>; column += kLanes<T>)
      store(strip + r * kStrip<T> + column, load(from + r * stride + first + column));
}

template <class T>
inline void store_columns(const T* strip, std::int64_t size, std::int64_t first, T* to,
                          std::int64_t stride, T scale) {
  for (std::int64_t r = 0; r < size; ++r)
    for (int column = 0; column < kStrip<T>; column += kLanes<T>)
      store(to + r * stride + first + column, load(strip + r * kStrip<T> + column) * scale);
}

template <class T>
void to_turned(const FftTables<T>& fft, std::int64_t stride, Planes<T> planes, T scale, T* buffer,
               T* other) {
  const Strip<T> strip{buffer, buffer + fft.size * kStrip<T>};
  T *re = other, *im = other + stride * stride;
  for (std::int64_t first = 0; first < stride; first += kStrip<T>) {
    load_columns(planes.re, stride, fft.size, first, strip.re);
    load_columns(planes.im, stride, fft.size, first, strip.im);
    forward_fft(strip, fft);
    store_turned(strip.re, fft, first, re, stride);
    store_turned(strip.im, fft, first, im, stride);
  }
  for (std::int64_t first = 0; first < stride; first += kStrip<T>) {
    load_columns(re, stride, fft.size, first, strip.re);
    load_columns(im, stride, fft.size, first, strip.im);
    forward_fft(strip, fft);
    store_columns(strip.re, fft.size, first, planes.re, stride, scale);
    store_columns(strip.im, fft.size, first, planes.im, stride, scale);
  }
}

template <class T>
void to_natural(const FftTables<T>& fft, std::int64_t stride, Planes<T> planes, T scale, T* buffer,
                T* other) {
  const Strip<T> strip{buffer, buffer + fft.size * kStrip<T>};
  T *re = other, *im = other + stride * stride;
  for (std::int64_t first = 0; first < stride; first += kStrip<T>) {
    load_columns(planes.re, stride, fft.size, first, strip.re);
    load_columns(planes.im, stride, fft.size, first, strip.im);
    backward_fft(strip, fft);
    store_columns(strip.re, fft.size, first, re, stride, T(1));
    store_columns(strip.im, fft.size, first, im, stride, T(1));
  }
  for (std::int64_t first = 0; first < stride; first += kStrip<T>) {
    load_turned(re, stride, fft, first, strip.re);
    load_turned(im, stride, fft, first, strip.im);
    backward_fft(strip, fft);
    store_columns(strip.re, fft.size, first, planes.re, stride, scale);
    store_columns(strip.im, fft.size, first, planes.im, stride, scale);
  }
}

}  // namespace ptyche::cpu::PTYCHE_ISA
