// Weighted patches onto a canvas, and back.
#pragma once

#include "ptyche/physics/cpu/between_pixels.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// Row r of an interleaved complex patch times its weight, apart into re and im.
template <class T>
inline void weighted_row(const T* __restrict patch, const T* __restrict weight, std::int64_t size,
                         T* __restrict re, T* __restrict im) {
#pragma omp simd
  for (std::int64_t j = 0; j < size; ++j) {
    re[j] = patch[2 * j] * weight[j];
    im[j] = patch[2 * j + 1] * weight[j];
  }
}

template <class T>
void merge_patch(const LossTask<T>& task, const Place& place, const T* patch,
                 const Canvas<T>& canvas, std::int64_t first, std::int64_t last, T* row_buffer) {
  const std::int64_t size = task.size, length = task.stride + kStrip<T>;
  T *re = row_buffer, *im = re + length, *buffer = im + length;
  for (std::int64_t r = 0; r < size; ++r) {
    const std::int64_t row = place.row + r;
    if (row + 1 < first || row >= last) continue;
    const T* weight = task.merge_weight + r * task.stride;
    weighted_row(patch + 2 * r * size, weight, size, re, im);
    spread_row(re, canvas.re, canvas.stride, place, r, size, buffer, first, last);
    spread_row(im, canvas.im, canvas.stride, place, r, size, buffer, first, last);
    spread_row(weight, canvas.weight, canvas.stride, place, r, size, buffer, first, last);
  }
}

template <class T>
void patch_gradient(const LossTask<T>& task, const Place& place, const T* patch,
                    const Canvas<T>& canvas, T* gradient, T* row_buffer, double* place_gradient) {
  const std::int64_t size = task.size, length = task.stride + kStrip<T>;
  T *re = row_buffer, *im = re + length;
  for (std::int64_t r = 0; r < size; ++r) {
    const T* __restrict weight = task.merge_weight + r * task.stride;
    see_row(canvas.re, canvas.stride, place, r, size, re);
    see_row(canvas.im, canvas.stride, place, r, size, im);
    T* __restrict to = gradient + 2 * r * size;
#pragma omp simd
    for (std::int64_t j = 0; j < size; ++j) {
      to[2 * j] = re[j] * weight[j];
      to[2 * j + 1] = im[j] * weight[j];
    }
    if (task.moved_probe) continue;
    weighted_row(patch + 2 * r * size, weight, size, re, im);
    row_slopes(re, canvas.re, canvas.stride, place, r, size, place_gradient);
    row_slopes(im, canvas.im, canvas.stride, place, r, size, place_gradient);
    double by_weight[2] = {0, 0};
    row_slopes(weight, canvas.weight, canvas.stride, place, r, size, by_weight);
    place_gradient[0] -= by_weight[0];
    place_gradient[1] -= by_weight[1];
  }
}

}  // namespace ptyche::cpu::PTYCHE_ISA
