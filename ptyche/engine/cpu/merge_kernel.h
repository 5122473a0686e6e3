// Weighted patches onto a canvas, their mean, and back.
#pragma once

#include "ptyche/engine/cpu/between_pixels.h"
#include "ptyche/engine/cpu/pattern_kernel.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// sum_m |P_m|^2 of the probe moved to the place.
template <class T>
const T* moved_weight(const LossTask<T>& task, const Place& place, ThreadState<T>& state) {
  move_probe(task, place, state);
  for (std::int64_t r = 0; r < task.size; ++r)
    for (std::int64_t c = 0; c < task.size; c += kLanes<T>) {
      const std::int64_t at = striped<T>(task.size, r, c);
      Vector<T> power{};
      for (std::int64_t mode = 0; mode < task.modes; ++mode) {
        const Planes<T> probe = planes_of(task, state.moved, mode);
        const Vector<T> re = load(probe.re + at), im = load(probe.im + at);
        power += re * re + im * im;
      }
      store_some(state.weight + r * task.size + c, power, task.size - c);
    }
  return state.weight;
}

/// A row of a patch times its weight, and the weight, into rows between zeros; zeros for a row
/// outside of the patch.
template <class T>
inline void weigh_row(const LossTask<T>& task, std::int64_t row, const T* patch, const T* weight,
                      const MergeRow<T>& to) {
  const bool inside = row >= 0 && row < task.size;
  const T* __restrict from = patch + (inside ? 2 * row * task.size : 0);
  const T* __restrict own = weight + (inside ? row * task.size : 0);
  const T factor = inside ? 1 : 0;
  T* __restrict re = to.re, * __restrict im = to.im, * __restrict sum = to.weight;
#pragma omp simd
  for (std::int64_t j = 0; j < task.size; ++j) {
    const T w = factor * own[j];
    re[j] = from[2 * j] * w;
    im[j] = from[2 * j + 1] * w;
    sum[j] = w;
  }
}

template <class T>
void merge_patch(const LossTask<T>& task, const Place& place, const T* patch, const T* weight,
                 const Canvas<T>& canvas, std::int64_t first, std::int64_t last,
                 const ThreadState<T>& state) {
  const Spot<T> spot(place);
  const Touched<T> rows(spot, task.size, first, last);
  MergeRow<T> row = state.merge_row[0], above = state.merge_row[1];
  for (std::int64_t i = rows.begin - 1; i < rows.end; ++i) {
    weigh_row(task, i, patch, weight, row);
    const std::int64_t start = (spot.row + i) * canvas.stride + spot.col;
    if (i >= rows.begin) {
      spread_row(row.re, above.re, spot, rows.all, canvas.re + start);
      spread_row(row.im, above.im, spot, rows.all, canvas.im + start);
      spread_row(row.weight, above.weight, spot, rows.all, canvas.weight + start);
    }
    const MergeRow<T> done = row;
    row = above;
    above = done;
  }
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
      const T inverse = mean_factor(weight[i], dark, floor);
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

template <class T, Way How>
inline void patch_gradient_of(const LossTask<T>& task, const Spot<T>& spot, const T* patch,
                              const T* all_weights, const Canvas<T>& canvas, T* gradient,
                              Slopes<T>& slopes) {
  for (std::int64_t i = 0; i < task.size; ++i) {
    const std::int64_t start = (spot.row + i) * canvas.stride + spot.col;
    for (std::int64_t j = 0; j < task.size; j += kLanes<T>) {
      const std::int64_t count = task.size - j, at = 2 * (i * task.size + j);
      const Vector<T> weight = load_some(all_weights + i * task.size + j, count);
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
                    const Canvas<T>& canvas, T* gradient, double* place_gradient) {
  const Spot<T> spot(place);
  Slopes<T> slopes;
  if (spot.whole && !task.want_place)
    return patch_gradient_of<T, Way::whole>(task, spot, patch, weight, canvas, gradient, slopes);
  if (!task.want_place)
    return patch_gradient_of<T, Way::between>(task, spot, patch, weight, canvas, gradient, slopes);
  patch_gradient_of<T, Way::with_slopes>(task, spot, patch, weight, canvas, gradient, slopes);
  place_gradient[0] += lane_sum<T>(slopes.row);
  place_gradient[1] += lane_sum<T>(slopes.col);
}

}  // namespace ptyche::cpu::PTYCHE_ISA
