// Between canvas and patch: bilinear interpolation, its adjoint, and its derivative by position.
//
// Rows of a canvas have spare columns at their end, and a spare row stands below. Framed planes
// have kFrame zeros before and after every row, a row of zeros above and below, so that a pixel has
// neighbours everywhere.
#pragma once

#include "ptyche/engine/cpu/fft.h"
#include "ptyche/engine/cpu/kernels.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// A PatchPosition in the numbers of a kernel.
template <class T>
struct BilinearPatch {
  explicit BilinearPatch(const PatchPosition& position)
      : row(position.row),
        col(position.col),
        r(broadcast(static_cast<T>(position.row_fraction))),
        c(broadcast(static_cast<T>(position.col_fraction))),
        weight(bilinear_weights(r, c)),
        whole(static_cast<T>(position.row_fraction) == 0 &&
              static_cast<T>(position.col_fraction) == 0) {}

  std::int64_t row, col;
  Vector<T> r, c;  // fractions
  BilinearWeights<Vector<T>> weight;
  bool whole;
};

/// Vectors in a row of a strip.
template <class T>
inline constexpr int kVectors = kStrip<T> / kLanes<T>;

template <class T>
inline Vector<T> lerp(Vector<T> a, Vector<T> b, Vector<T> fraction) {
  return a + fraction * (b - a);
}

/// The four canvas pixels around every pixel of one vector.
template <class T>
struct Quad {
  Quad(const T* upper, std::int64_t stride)
      : here(load(upper)),
        right(load(upper + 1) - here),
        below(load(upper + stride)),
        below_right(load(upper + stride + 1) - below) {}

  Vector<T> here, right, below, below_right;  // `right` ones as differences

  Vector<T> value(const BilinearPatch<T>& bilinear) const {
    const Vector<T> top = here + bilinear.c * right;
    return top + bilinear.r * (below + bilinear.c * below_right - top);
  }
  Vector<T> by_row(const BilinearPatch<T>& bilinear) const {
    return below - here + bilinear.c * (below_right - right);
  }
  Vector<T> by_col(const BilinearPatch<T>& bilinear) const {
    return right + bilinear.r * (below_right - right);
  }
};

/// How a patch is taken from its canvas: at whole pixels, between them, or with the slopes by
/// position too.
enum class Sampling { whole, bilinear, with_slopes };

/// What one vector of patch pixels sees of a canvas plane, between pixels.
template <class T>
inline Vector<T> gather_bilinear(const T* from, std::int64_t stride,
                                 const BilinearPatch<T>& bilinear) {
  return bilinear.weight.here * load(from) + bilinear.weight.right * load(from + 1) +
         bilinear.weight.below * load(from + stride) +
         bilinear.weight.below_right * load(from + stride + 1);
}

/// Columns first.. of what a patch at `bilinear` sees of a canvas plane -> striped plane. A row's
/// mix of left and right serves the row above it, too.
template <class T, bool Whole>
inline void gather_columns(const T* plane, std::int64_t stride, const BilinearPatch<T>& bilinear,
                           std::int64_t size, std::int64_t first, T* to) {
  const T* from = plane + bilinear.row * stride + bilinear.col + first;
  const Vector<T> r = bilinear.r, c = bilinear.c;
  T* at = to + first * size;
  Vector<T> top[kVectors<T>];
  for (std::int64_t i = 0; i <= size; ++i, from += stride) {
#pragma GCC unroll 4
    for (int k = 0; k < kVectors<T>; ++k) {
      const Vector<T> here = load(from + k * kLanes<T>);
      if constexpr (Whole) {
        if (i < size) store(at + i * kStrip<T> + k * kLanes<T>, here);
        continue;
      }
      const Vector<T> row = lerp<T>(here, load(from + k * kLanes<T> + 1), c);
      if (i > 0) store(at + (i - 1) * kStrip<T> + k * kLanes<T>, lerp<T>(top[k], row, r));
      top[k] = row;
    }
  }
}

/// The strip first.. of the patch at `bilinear`.
template <class T>
inline void gather_strip(const KernelContext<T>& context, const Canvas<T>& canvas,
                         const BilinearPatch<T>& bilinear, std::int64_t first, Planes<T> to) {
  const auto columns = bilinear.whole ? &gather_columns<T, true> : &gather_columns<T, false>;
  columns(canvas.re, canvas.stride, bilinear, context.size, first, to.re);
  columns(canvas.im, canvas.stride, bilinear, context.size, first, to.im);
}

/// What two rows of a patch add to a row of canvas pixels 0..count-1: `row` lies on them, `above`
/// is the one before.
template <class T>
inline void scatter_row(const T* row, const T* above, const BilinearPatch<T>& bilinear,
                        std::int64_t count, T* to) {
  if (bilinear.whole)
    for (std::int64_t j = 0; j < count; j += kLanes<T>) store(to + j, load(to + j) + load(row + j));
  else
    for (std::int64_t j = 0; j < count; j += kLanes<T>)
      store(to + j, load(to + j) + bilinear.weight.here * load(row + j) +
                        bilinear.weight.right * load(row + j - 1) +
                        bilinear.weight.below * load(above + j) +
                        bilinear.weight.below_right * load(above + j - 1));
}

/// Rows of a patch, from its first, that touch canvas rows first..last-1.
template <class T>
struct TouchedRows {
  TouchedRows(const BilinearPatch<T>& bilinear, std::int64_t size, std::int64_t first,
              std::int64_t last)
      : all(bilinear.whole ? size : size + 1),
        begin(first > bilinear.row ? first - bilinear.row : 0),
        end(last - bilinear.row < all ? last - bilinear.row : all) {}

  std::int64_t all, begin, end;  // `all` rows, and columns, touch the canvas
};

/// The adjoint of gather_strip for a whole plane: adds a framed plane into those rows of a canvas
/// plane that lie in first..last-1 (threads own bands of a canvas).
template <class T>
inline void scatter_plane(const T* framed, std::int64_t frame, std::int64_t size,
                          const BilinearPatch<T>& bilinear, T* plane, std::int64_t stride,
                          std::int64_t first, std::int64_t last) {
  const TouchedRows<T> rows(bilinear, size, first, last);
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    const T* row = framed + i * frame;
    scatter_row(row, row - frame, bilinear, rows.all,
                plane + (bilinear.row + i) * stride + bilinear.col);
  }
}

/// Derivatives by row and col, summed in the lanes.
template <class T>
struct PositionSlopes {
  Vector<T> row{}, col{};
};

/// The numbers one lane to the left: the last of `before`, then all but the last of `here`.
template <class T>
struct OneBack {
  static constexpr int lane(int k) { return k + kLanes<T> - 1; }
};

/// Where the strips of one pattern's gradient land. A strip's rows are given from the first to one
/// beyond the last (zeros), the strips from left to right; what falls on the column beyond a strip
/// is carried to the next one.
template <class T>
struct BilinearScatter {
  /// `carry` holds 2 (N + 1) vectors.
  BilinearScatter(const BilinearPatch<T>& at, const Canvas<T>& seen_canvas,
                  const Canvas<T>& gradient, T* carry)
      : row_fraction(at.r),
        col_fraction(at.c),
        stride(gradient.stride),
        origin(at.row * gradient.stride + at.col),
        to{gradient.re, gradient.im},
        seen{seen_canvas.re, seen_canvas.im},
        carried(carry) {}

  void begin(std::int64_t first) {
    column = first;
    for (auto& plane : above)
      for (Vector<T>& vector : plane) vector = Vector<T>{};
  }

  template <Sampling kSampling>
  void add(std::int64_t r, const Complex<T>* row) {
    Vector<T> re[kVectors<T>], im[kVectors<T>];
    for (int i = 0; i < kVectors<T>; ++i) {
      re[i] = row[i].re;
      im[i] = row[i].im;
    }
    add_plane<kSampling>(0, r, re);
    add_plane<kSampling>(1, r, im);
  }

  /// The column beyond the last strip.
  void end(const KernelContext<T>& context) {
    for (int plane = 0; plane < 2; ++plane)
      for (std::int64_t r = 0; r <= context.size; ++r)
        to[plane][origin + r * stride + context.stride] +=
            col_fraction[0] * carried[(2 * r + plane) * kLanes<T> + kLanes<T> - 1];
  }

  Vector<T> row_fraction, col_fraction;
  std::int64_t stride, origin, column = 0;
  T* to[2];
  const T* seen[2];
  T* carried;
  Vector<T> above[2][kVectors<T>] = {};  // the row before
  PositionSlopes<T> slopes;

 private:
  /// At a whole pixel the slopes are the derivatives towards larger row and col.
  template <Sampling kSampling>
  void add_plane(int plane, std::int64_t r, const Vector<T>* row) {
    const std::int64_t start = origin + r * stride + column;
    T* carry = carried + (2 * r + plane) * kLanes<T>;
    Vector<T> before = column == 0 ? Vector<T>{} : load(carry);
#pragma GCC unroll 4
    for (int i = 0; i < kVectors<T>; ++i) {
      T* at = to[plane] + start + i * kLanes<T>;
      if constexpr (kSampling == Sampling::whole) {
        store(at, load(at) + row[i]);
        continue;
      }
      const Vector<T> upper = above[plane][i], here = lerp<T>(row[i], upper, row_fraction);
      store(at, load(at) + lerp<T>(here, shuffle<T>(before, here, OneBack<T>()), col_fraction));
      before = here;
      above[plane][i] = row[i];
      if constexpr (kSampling == Sampling::with_slopes) {
        const T* from = seen[plane] + start + i * kLanes<T>;
        const Vector<T> value = load(from), step = load(from + 1) - value;
        slopes.col += here * step;
        slopes.row += (upper - row[i]) * (value + col_fraction * step);
      }
    }
    if constexpr (kSampling != Sampling::whole) store(carry, before);
  }
};

}  // namespace ptyche::cpu::PTYCHE_ISA
