// Weighted patches onto a canvas, their mean, and back; at the end the same for a patch that has a
// canvas of its own.
#pragma once

#include "ptyche/engine/cpu/pattern.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// sum_m |P_m|^2 of the probe moved to its position.
template <class T>
const T* moved_weight(const KernelContext<T>& context, const PatchPosition& position,
                      ThreadScratch<T>& scratch) {
  fourier_shift_probe(context, position, scratch);
  for (std::int64_t r = 0; r < context.size; ++r)
    for (std::int64_t c = 0; c < context.size; c += kLanes<T>) {
      const std::int64_t at = striped<T>(context.size, r, c);
      Vector<T> power{};
      for (std::int64_t mode = 0; mode < context.modes; ++mode) {
        const Planes<T> probe = planes_of(context, scratch.probe, mode);
        const Vector<T> re = load(probe.re + at), im = load(probe.im + at);
        power += re * re + im * im;
      }
      store_some(scratch.weight + r * context.size + c, power, context.size - c);
    }
  return scratch.weight;
}

/// A row of a patch times its weight, and the weight, into rows between zeros; zeros for a row
/// outside of the patch.
template <class T>
inline void weigh_row(const KernelContext<T>& context, std::int64_t row, const T* patch,
                      const T* weight, const MergeRow<T>& to) {
  const bool inside = row >= 0 && row < context.size;
  const T* __restrict from = patch + (inside ? 2 * row * context.size : 0);
  const T* __restrict own = weight + (inside ? row * context.size : 0);
  const T factor = inside ? 1 : 0;
  T* __restrict re = to.re, * __restrict im = to.im, * __restrict sum = to.weight;
#pragma omp simd
  for (std::int64_t j = 0; j < context.size; ++j) {
    const T w = factor * own[j];
    re[j] = from[2 * j] * w;
    im[j] = from[2 * j + 1] * w;
    sum[j] = w;
  }
}

template <class T>
void merge_patch(const KernelContext<T>& context, const PatchPosition& position, const T* patch,
                 const T* weight, const Planes<T>& canvas, std::int64_t first, std::int64_t last,
                 const ThreadScratch<T>& scratch) {
  const bool whole = is_whole<T>(position);
  const BilinearWeights<Vector<T>> at = weights_at<T>(position);
  const TouchedRows rows(position, whole, context.size, first, last);
  MergeRow<T> row = scratch.merge_row[0], above = scratch.merge_row[1];
  for (std::int64_t i = rows.begin - 1; i < rows.end; ++i) {
    weigh_row(context, i, patch, weight, row);
    const std::int64_t start = (position.row + i) * canvas.stride + position.col;
    if (i >= rows.begin) {
      scatter_row<T>(row.re, above.re, whole, at, rows.all, canvas.re + start);
      scatter_row<T>(row.im, above.im, whole, at, rows.all, canvas.im + start);
      scatter_row<T>(row.weight, above.weight, whole, at, rows.all, canvas.weight + start);
    }
    const MergeRow<T> done = row;
    row = above;
    above = done;
  }
}

/// Sums -> means in canvas rows first..last-1; `weight` becomes what one merged patch counts for.
/// Adds sum re, sum im and sum of squares to moments[0..2].
template <class T>
void normalise(const Planes<T>& canvas, T dark, T floor, std::int64_t first, std::int64_t last,
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

/// d loss / d mean -> d loss / d sum; `weight` becomes Re(conj(that) mean), by which the
/// weights move with their positions.
template <class T>
void normalise_backward(const Planes<T>& canvas, const Planes<T>& gradient, std::int64_t first,
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
inline void deinterleave(const T* from, Vector<T>& re, Vector<T>& im) {
  const Vector<T> a = load(from), b = load(from + kLanes<T>);
  re = shuffle<T>(a, b, Every2nd<T, false>());
  im = shuffle<T>(a, b, Every2nd<T, true>());
}

/// Writes re, im interleaved, `count` of them.
template <class T>
inline void interleave(Vector<T> re, Vector<T> im, T* to, std::int64_t count) {
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
inline void deinterleave_some(const T* from, std::int64_t count, Vector<T>& re, Vector<T>& im) {
  if (count >= kLanes<T>) return deinterleave(from, re, im);
  re = im = Vector<T>{};
  for (std::int64_t k = 0; k < count; ++k) {
    re[k] = from[2 * k];
    im[k] = from[2 * k + 1];
  }
}

template <class T, Sampling kSampling>
inline void patch_gradient_of(const KernelContext<T>& context, const PatchPosition& position,
                              const T* patch, const T* all_weights, const Planes<T>& canvas,
                              T* gradient, PositionSlopes<T>& slopes) {
  const Vector<T> r = row_fraction<T>(position), c = col_fraction<T>(position);
  const BilinearWeights<Vector<T>> between = bilinear_weights(r, c);
  for (std::int64_t i = 0; i < context.size; ++i) {
    const std::int64_t start = (position.row + i) * canvas.stride + position.col;
    for (std::int64_t j = 0; j < context.size; j += kLanes<T>) {
      const std::int64_t count = context.size - j, at = 2 * (i * context.size + j);
      const Vector<T> weight = load_some(all_weights + i * context.size + j, count);
      if constexpr (kSampling == Sampling::whole) {
        interleave<T>(load(canvas.re + start + j) * weight, load(canvas.im + start + j) * weight,
                      gradient + at, count);
        continue;
      }
      if constexpr (kSampling == Sampling::bilinear) {
        interleave<T>(gather_bilinear(canvas.re + start + j, canvas.stride, between) * weight,
                      gather_bilinear(canvas.im + start + j, canvas.stride, between) * weight,
                      gradient + at, count);
        continue;
      }
      const Quad<T> re(canvas.re + start + j, canvas.stride, r, c);
      const Quad<T> im(canvas.im + start + j, canvas.stride, r, c);
      const Quad<T> of_weight(canvas.weight + start + j, canvas.stride, r, c);
      interleave<T>(re.value() * weight, im.value() * weight, gradient + at, count);
      Vector<T> pr, pi;
      deinterleave_some(patch + at, count, pr, pi);
      slopes.row += weight * (pr * re.by_row() + pi * im.by_row() - of_weight.by_row());
      slopes.col += weight * (pr * re.by_col() + pi * im.by_col() - of_weight.by_col());
    }
  }
}

template <class T>
void patch_gradient(const KernelContext<T>& context, const PatchPosition& position, const T* patch,
                    const T* weight, const Planes<T>& canvas, T* gradient,
                    double* position_gradient) {
  PositionSlopes<T> slopes;
  if (is_whole<T>(position) && !context.want_position)
    return patch_gradient_of<T, Sampling::whole>(context, position, patch, weight, canvas, gradient,
                                                 slopes);
  if (!context.want_position)
    return patch_gradient_of<T, Sampling::bilinear>(context, position, patch, weight, canvas,
                                                    gradient, slopes);
  patch_gradient_of<T, Sampling::with_slopes>(context, position, patch, weight, canvas, gradient,
                                              slopes);
  position_gradient[0] += lane_sum<T>(slopes.row);
  position_gradient[1] += lane_sum<T>(slopes.col);
}

/// The first `count` numbers; the rest 0.
template <class T>
inline Vector<T> first_lanes(Vector<T> values, std::int64_t count) {
  for (std::int64_t k = count; k < kLanes<T>; ++k) values[k] = 0;
  return values;
}

/// Writes the patch where its weight is above `dark`, else 1, and zeros where its strips go on.
template <class T>
void single_patch_forward(const KernelContext<T>& context, const PatchPosition& position,
                          const T* patch, const T* weight, T dark, const Planes<T>& canvas,
                          double* moments) {
  Vector<T> re_sum{}, im_sum{}, square_sum{};
  const Vector<T> one = broadcast<T>(1), none{}, limit = broadcast(dark);
  for (std::int64_t r = 0; r < context.size; ++r)
    for (std::int64_t j = 0; j < context.stride; j += kLanes<T>) {
      const std::int64_t at = r * context.size + j, count = context.size - j;
      const std::int64_t to = (position.row + r) * canvas.stride + position.col + j;
      Vector<T> re = none, im = none;
      if (count > 0) {
        const auto lit = load_some(weight + at, count) > limit;
        deinterleave_some(patch + 2 * at, count, re, im);
        re = lit ? re : first_lanes<T>(one, count);
        im = lit ? im : none;
      }
      store(canvas.re + to, re);
      store(canvas.im + to, im);
      re_sum += re;
      im_sum += im;
      square_sum += re * re + im * im;
    }
  const auto uncovered =
      static_cast<double>(canvas.rows * canvas.cols - context.size * context.size);
  moments[0] += lane_sum<T>(re_sum) + uncovered;
  moments[1] += lane_sum<T>(im_sum);
  moments[2] += lane_sum<T>(square_sum) + uncovered;
}

template <class T>
void single_patch_backward(const KernelContext<T>& context, const PatchPosition& position,
                           const T* weight, T dark, const Planes<T>& gradient, T* patch_gradient) {
  const Vector<T> none{}, limit = broadcast(dark);
  for (std::int64_t r = 0; r < context.size; ++r)
    for (std::int64_t j = 0; j < context.size; j += kLanes<T>) {
      const std::int64_t at = r * context.size + j, count = context.size - j;
      const std::int64_t from = (position.row + r) * gradient.stride + position.col + j;
      const auto lit = load_some(weight + at, count) > limit;
      interleave<T>(lit ? load(gradient.re + from) : none, lit ? load(gradient.im + from) : none,
                    patch_gradient + 2 * at, count);
    }
}

}  // namespace ptyche::cpu::PTYCHE_ISA
