// A patch that is alone on its canvas, at a whole pixel: where the probe lights it, its merge is
// the patch itself. Nothing looks at the rest of the canvas, which is left as it is.
#pragma once

#include "ptyche/engine/cpu/merge_kernel.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// The first `count` numbers; the rest 0.
template <class T>
inline Vector<T> some(Vector<T> values, std::int64_t count) {
  for (std::int64_t k = count; k < kLanes<T>; ++k) values[k] = 0;
  return values;
}

/// Writes the patch where its weight is above `dark`, else 1, and zeros where its strips go on.
template <class T>
void place_alone(const LossTask<T>& task, const Place& place, const T* patch, const T* weight,
                 T dark, const Canvas<T>& canvas, double* moments) {
  Vector<T> re_sum{}, im_sum{}, square_sum{};
  const Vector<T> one = broadcast<T>(1), none{}, limit = broadcast(dark);
  for (std::int64_t r = 0; r < task.size; ++r)
    for (std::int64_t j = 0; j < task.stride; j += kLanes<T>) {
      const std::int64_t at = r * task.size + j, count = task.size - j;
      const std::int64_t to = (place.row + r) * canvas.stride + place.col + j;
      Vector<T> re = none, im = none;
      if (count > 0) {
        const auto lit = load_some(weight + at, count) > limit;
        take_some(patch + 2 * at, count, re, im);
        re = lit ? re : some<T>(one, count);
        im = lit ? im : none;
      }
      store(canvas.re + to, re);
      store(canvas.im + to, im);
      re_sum += re;
      im_sum += im;
      square_sum += re * re + im * im;
    }
  const auto uncovered = static_cast<double>(canvas.rows * canvas.cols - task.size * task.size);
  moments[0] += lane_sum<T>(re_sum) + uncovered;
  moments[1] += lane_sum<T>(im_sum);
  moments[2] += lane_sum<T>(square_sum) + uncovered;
}

template <class T>
void take_alone(const LossTask<T>& task, const Place& place, const T* weight, T dark,
                const Canvas<T>& gradient, T* patch_gradient) {
  const Vector<T> none{}, limit = broadcast(dark);
  for (std::int64_t r = 0; r < task.size; ++r)
    for (std::int64_t j = 0; j < task.size; j += kLanes<T>) {
      const std::int64_t at = r * task.size + j, count = task.size - j;
      const std::int64_t from = (place.row + r) * gradient.stride + place.col + j;
      const auto lit = load_some(weight + at, count) > limit;
      put_together<T>(lit ? load(gradient.re + from) : none, lit ? load(gradient.im + from) : none,
                      patch_gradient + 2 * at, count);
    }
}

}  // namespace ptyche::cpu::PTYCHE_ISA
