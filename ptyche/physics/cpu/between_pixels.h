// Bilinear interpolation between canvas and patch, row by row, and its derivative by position.
#pragma once

#include "ptyche/physics/cpu/loss_task.h"
#include "ptyche/physics/cpu/simd.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// out[j] = what a patch at `place` sees in its row `row` of a canvas plane, j = 0..N-1.
template <class T>
inline void see_row(const T* plane, std::int64_t stride, const Place& place, std::int64_t row,
                    std::int64_t size, T* __restrict out) {
  const T* __restrict upper = plane + (place.row + row) * stride + place.col;
  const T r = static_cast<T>(place.row_fraction), c = static_cast<T>(place.col_fraction);
  if (r == 0 && c == 0) {
#pragma omp simd
    for (std::int64_t j = 0; j < size; ++j) out[j] = upper[j];
    return;
  }
  const T* __restrict lower = upper + stride;
#pragma omp simd
  for (std::int64_t j = 0; j < size; ++j) {
    const T left = upper[j] + r * (lower[j] - upper[j]);
    const T right = upper[j + 1] + r * (lower[j + 1] - upper[j + 1]);
    out[j] = left + c * (right - left);
  }
}

/// The adjoint of see_row: spreads `values` (N) over those rows of the canvas plane that lie in
/// first..last-1 (threads own bands of a canvas).
template <class T>
inline void spread_row(const T* __restrict values, T* plane, std::int64_t stride,
                       const Place& place, std::int64_t row, std::int64_t size,
                       T* __restrict buffer, std::int64_t first, std::int64_t last) {
  const std::int64_t at = place.row + row;
  T* __restrict upper = plane + at * stride + place.col;
  const T r = static_cast<T>(place.row_fraction), c = static_cast<T>(place.col_fraction);
  if (r == 0 && c == 0) {
    if (at < first || at >= last) return;
#pragma omp simd
    for (std::int64_t j = 0; j < size; ++j) upper[j] += values[j];
    return;
  }
  buffer[0] = (1 - c) * values[0];
#pragma omp simd
  for (std::int64_t j = 1; j < size; ++j) buffer[j] = values[j] + c * (values[j - 1] - values[j]);
  buffer[size] = c * values[size - 1];
  if (at >= first && at < last) {
#pragma omp simd
    for (std::int64_t j = 0; j <= size; ++j) upper[j] += (1 - r) * buffer[j];
  }
  if (at + 1 >= first && at + 1 < last) {
    T* __restrict lower = upper + stride;
#pragma omp simd
    for (std::int64_t j = 0; j <= size; ++j) lower[j] += r * buffer[j];
  }
}

/// Adds sum_j values[j] d(see_row)[j] / d(row, col) to gradient[0], [1]. At a whole pixel this is
/// the derivative towards larger row and col.
template <class T>
inline void row_slopes(const T* __restrict values, const T* plane, std::int64_t stride,
                       const Place& place, std::int64_t row, std::int64_t size, double* gradient) {
  const T* __restrict upper = plane + (place.row + row) * stride + place.col;
  const T* __restrict lower = upper + stride;
  const T r = static_cast<T>(place.row_fraction), c = static_cast<T>(place.col_fraction);
  T by_row = 0, by_col = 0;
#pragma omp simd reduction(+ : by_row, by_col)
  for (std::int64_t j = 0; j < size; ++j) {
    const T left = lower[j] - upper[j], right = lower[j + 1] - upper[j + 1];
    const T top = upper[j + 1] - upper[j], bottom = lower[j + 1] - lower[j];
    by_row += values[j] * (left + c * (right - left));
    by_col += values[j] * (top + r * (bottom - top));
  }
  gradient[0] += static_cast<double>(by_row);
  gradient[1] += static_cast<double>(by_col);
}

}  // namespace ptyche::cpu::PTYCHE_ISA
