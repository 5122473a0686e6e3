// Weighted patches onto a canvas, their mean, and back.
#pragma once

#include "ptyche/physics/cpu/between_pixels.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// A weight (N, N) -> framed plane.
template <class T>
inline void frame_weight(const LossTask<T>& task, const T* weight, T* to) {
  for (std::int64_t r = 0; r < task.size; ++r)
    for (std::int64_t j = 0; j < task.size; ++j) to[r * task.frame + j] = *weight++;
}

/// An interleaved complex patch times its framed weight -> framed planes.
template <class T>
inline void weigh(const LossTask<T>& task, const T* patch, const T* framed_weight, Planes<T> to) {
  for (std::int64_t r = 0; r < task.size; ++r) {
    const T* __restrict weight = framed_weight + r * task.frame;
    const T* __restrict from = patch + 2 * r * task.size;
    T* __restrict re = to.re + r * task.frame, * __restrict im = to.im + r * task.frame;
#pragma omp simd
    for (std::int64_t j = 0; j < task.size; ++j) {
      re[j] = from[2 * j] * weight[j];
      im[j] = from[2 * j + 1] * weight[j];
    }
  }
}

template <class T>
void merge_patch(const LossTask<T>& task, const Place& place, const T* patch, const T* weight,
                 const Canvas<T>& canvas, std::int64_t first, std::int64_t last,
                 const ThreadState<T>& state) {
  const Spot<T> spot(place);
  frame_weight(task, weight, state.weight);
  weigh(task, patch, state.weight, state.patch_gradient);
  const std::int64_t size = task.size, frame = task.frame, stride = canvas.stride;
  spread<T>(state.patch_gradient.re, frame, size, spot, canvas.re, stride, first, last);
  spread<T>(state.patch_gradient.im, frame, size, spot, canvas.im, stride, first, last);
  spread<T>(state.weight, frame, size, spot, canvas.weight, stride, first, last);
}

/// Sums -> means in canvas rows first..last-1; `weight` becomes what one merged patch counts for.
/// Adds sum re, sum im and sum of squares to moments[0..2].
template <class T>
void divide(const Canvas<T>& canvas, T dark, T floor, std::int64_t first, std::int64_t last,
            double* moments) {
  for (std::int64_t row = first; row < last; ++row) {
    T* __restrict re = canvas.re + row * canvas.stride;
    T* __restrict im = canvas.im + row * canvas.stride;
    T* __restrict weight = canvas.weight + row * canvas.stride;
    T re_sum = 0, im_sum = 0, square_sum = 0;
#pragma omp simd reduction(+ : re_sum, im_sum, square_sum)
    for (std::int64_t i = 0; i < canvas.cols; ++i) {
      const bool lit = weight[i] > dark;
      const T inverse = lit ? 1 / (weight[i] + floor) : T(0);
      re[i] = lit ? re[i] * inverse : T(1);
      im[i] = im[i] * inverse;
      weight[i] = inverse;
      re_sum += re[i];
      im_sum += im[i];
      square_sum += re[i] * re[i] + im[i] * im[i];
    }
    moments[0] += static_cast<double>(re_sum);
    moments[1] += static_cast<double>(im_sum);
    moments[2] += static_cast<double>(square_sum);
  }
}

/// d loss / d mean -> d loss / d sum; `weight` becomes Re(conj(that) mean), what the places of the
/// weights answer for.
template <class T>
void undivide(const Canvas<T>& canvas, const Canvas<T>& gradient, std::int64_t first,
              std::int64_t last) {
  const std::int64_t begin = first * canvas.stride, end = last * canvas.stride;
  const T* __restrict re = canvas.re, * __restrict im = canvas.im;
  T* __restrict weight = canvas.weight, * __restrict by_re = gradient.re;
  T* __restrict by_im = gradient.im;
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    by_re[i] *= weight[i];
    by_im[i] *= weight[i];
    weight[i] = by_re[i] * re[i] + by_im[i] * im[i];
  }
}

/// Two vectors of an interleaved complex row, apart.
template <class T>
inline void take_apart(const T* from, Vector<T>& re, Vector<T>& im) {
  const Vector<T> a = load(from), b = load(from + kLanes<T>);
  re = shuffle<T>(a, b, Every2nd<T, false>());
  im = shuffle<T>(a, b, Every2nd<T, true>());
}

/// Writes re, im interleaved, `count` of them.
template <class T>
inline void put_together(Vector<T> re, Vector<T> im, T* to, std::int64_t count) {
  const Vector<T> a = shuffle<T>(re, im, InTurn<T, false>());
  const Vector<T> b = shuffle<T>(re, im, InTurn<T, true>());
  if (count >= kLanes<T>) {
    store(to, a);
    store(to + kLanes<T>, b);
    return;
  }
  for (std::int64_t k = 0; k < count; ++k) {
    to[2 * k] = re[k];
    to[2 * k + 1] = im[k];
  }
}

/// Re and im of `count` numbers of an interleaved row; the rest 0.
template <class T>
inline void take_some(const T* from, std::int64_t count, Vector<T>& re, Vector<T>& im) {
  if (count >= kLanes<T>) return take_apart(from, re, im);
  re = im = Vector<T>{};
  for (std::int64_t k = 0; k < count; ++k) {
    re[k] = from[2 * k];
    im[k] = from[2 * k + 1];
  }
}

/// What patch_gradient_of computes: of a whole-pixel patch, between pixels, or with the slopes too.
enum class Way { whole, between, with_slopes };

template <class T, Way How>
inline void patch_gradient_of(const LossTask<T>& task, const Spot<T>& spot, const T* patch,
                              const T* framed_weight, const Canvas<T>& canvas, T* gradient,
                              Slopes<T>& slopes) {
  for (std::int64_t i = 0; i < task.size; ++i) {
    const std::int64_t start = (spot.row + i) * canvas.stride + spot.col;
    for (std::int64_t j = 0; j < task.size; j += kLanes<T>) {
      const std::int64_t count = task.size - j, at = 2 * (i * task.size + j);
      const Vector<T> weight = load(framed_weight + i * task.frame + j);
      if constexpr (How == Way::whole) {
        put_together<T>(load(canvas.re + start + j) * weight, load(canvas.im + start + j) * weight,
                        gradient + at, count);
        continue;
      }
      if constexpr (How == Way::between) {
        put_together<T>(see_value(canvas.re + start + j, canvas.stride, spot) * weight,
                        see_value(canvas.im + start + j, canvas.stride, spot) * weight,
                        gradient + at, count);
        continue;
      }
      const Square<T> re(canvas.re + start + j, canvas.stride);
      const Square<T> im(canvas.im + start + j, canvas.stride);
      const Square<T> of_weight(canvas.weight + start + j, canvas.stride);
      put_together<T>(re.value(spot) * weight, im.value(spot) * weight, gradient + at, count);
      Vector<T> pr, pi;
      take_some(patch + at, count, pr, pi);
      slopes.row += weight * (pr * re.by_row(spot) + pi * im.by_row(spot) - of_weight.by_row(spot));
      slopes.col += weight * (pr * re.by_col(spot) + pi * im.by_col(spot) - of_weight.by_col(spot));
    }
  }
}

template <class T>
void patch_gradient(const LossTask<T>& task, const Place& place, const T* patch, const T* weight,
                    const Canvas<T>& canvas, T* gradient, const ThreadState<T>& state,
                    double* place_gradient) {
  const Spot<T> spot(place);
  Slopes<T> slopes;
  const T* framed = state.weight;
  frame_weight(task, weight, state.weight);
  if (spot.whole && !task.want_place)
    return patch_gradient_of<T, Way::whole>(task, spot, patch, framed, canvas, gradient, slopes);
  if (!task.want_place)
    return patch_gradient_of<T, Way::between>(task, spot, patch, framed, canvas, gradient, slopes);
  patch_gradient_of<T, Way::with_slopes>(task, spot, patch, framed, canvas, gradient, slopes);
  place_gradient[0] += lane_sum<T>(slopes.row);
  place_gradient[1] += lane_sum<T>(slopes.col);
}

}  // namespace ptyche::cpu::PTYCHE_ISA
