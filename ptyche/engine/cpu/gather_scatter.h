// Between canvas and patch: bilinear interpolation, its adjoint, and its derivative by position.
//
// Rows of a canvas have spare columns at their end, and a spare row stands below. Framed planes
// have kFrame zeros before and after every row, a row of zeros above and below, so that a pixel has
// neighbours everywhere.
#pragma once

#include "ptyche/engine/cpu/fft.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// Whether the patch lies at whole pixels, in the kernel's precision.
template <class T>
inline bool is_whole(const PatchPosition& position) {
  return static_cast<T>(position.row_fraction) == 0 && static_cast<T>(position.col_fraction) == 0;
}

/// The fractions of a position, in all lanes.
template <class T>
inline Vector<T> row_fraction(const PatchPosition& position) {
  return broadcast(static_cast<T>(position.row_fraction));
}
template <class T>
inline Vector<T> col_fraction(const PatchPosition& position) {
  return broadcast(static_cast<T>(position.col_fraction));
}
template <class T>
inline BilinearWeights<Vector<T>> weights_at(const PatchPosition& position) {
  return bilinear_weights(row_fraction<T>(position), col_fraction<T>(position));
}

/// Vectors in a row of a strip.
template <class T>
inline constexpr int kVectors = kStrip<T> / kLanes<T>;

template <class T>
inline Vector<T> lerp(Vector<T> a, Vector<T> b, Vector<T> fraction) {
  return a + fraction * (b - a);
}

/// The four canvas pixels around every pixel of one vector, seen r, c beyond the first.
template <class T>
struct Quad {
  Quad(const T* upper, std::int64_t stride, Vector<T> row, Vector<T> col)
      : here(load(upper)),
        right(load(upper + 1) - here),
        below(load(upper + stride)),
        below_right(load(upper + stride + 1) - below),
        r(row),
        c(col) {}

  Vector<T> here, right, below, below_right, r, c;  // `right` ones as differences

  Vector<T> value() const {
    const Vector<T> top = here + c * right;
    return top + r * (below + c * below_right - top);
  }
  Vector<T> by_row() const { return below - here + c * (below_right - right); }
  Vector<T> by_col() const { return right + r * (below_right - right); }
};

/// How a patch is taken from its canvas: at whole pixels, between them, or with the slopes by
/// position too.
enum class Sampling { whole, bilinear, with_slopes };

/// What one vector of patch pixels sees of a canvas plane, between pixels.
template <class T>
inline Vector<T> gather_bilinear(const T* from, std::int64_t stride,
                                 const BilinearWeights<Vector<T>>& weight) {
  return weight.here * load(from) + weight.right * load(from + 1) +
         weight.below * load(from + stride) + weight.below_right * load(from + stride + 1);
}

/// Columns first.. of what a patch at `position` sees of a canvas plane -> striped plane. A row's
/// mix of left and right serves the row above it, too.
template <class T, bool Whole>
inline void gather_columns(const T* plane, std::int64_t stride, const PatchPosition& position,
                           std::int64_t size, std::int64_t first, T* to) {
  const T* from = plane + position.row * stride + position.col + first;
  const Vector<T> r = row_fraction<T>(position), c = col_fraction<T>(position);
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

/// The strip first.. of the patch at `position`.
template <class T>
inline void gather_strip(const KernelContext<T>& context, const Planes<T>& canvas,
                         const PatchPosition& position, std::int64_t first, Planes<T> to) {
  const auto columns = is_whole<T>(position) ? &gather_columns<T, true> : &gather_columns<T, false>;
  columns(canvas.re, canvas.stride, position, context.size, first, to.re);
  columns(canvas.im, canvas.stride, position, context.size, first, to.im);
}

/// What two rows of a patch add to a row of canvas pixels 0..count-1: `row` lies on them, `above`
/// is the one before.
template <class T>
inline void scatter_row(const T* row, const T* above, bool whole,
                        const BilinearWeights<Vector<T>>& weight, std::int64_t count, T* to) {
  if (whole)
    for (std::int64_t j = 0; j < count; j += kLanes<T>) store(to + j, load(to + j) + load(row + j));
  else
    for (std::int64_t j = 0; j < count; j += kLanes<T>)
      store(to + j, load(to + j) + weight.here * load(row + j) + weight.right * load(row + j - 1) +
                        weight.below * load(above + j) + weight.below_right * load(above + j - 1));
}

/// Rows of a patch, from its first, that touch canvas rows first..last-1.
struct TouchedRows {
  TouchedRows(const PatchPosition& position, bool whole, std::int64_t size, std::int64_t first,
              std::int64_t last)
      : all(whole ? size : size + 1),
        begin(first > position.row ? first - position.row : 0),
        end(last - position.row < all ? last - position.row : all) {}

  std::int64_t all, begin, end;  // `all` rows, and columns, touch the canvas
};

/// The adjoint of gather_strip for a whole plane: adds a framed plane into those rows of a canvas
/// plane that lie in first..last-1 (threads own bands of a canvas).
template <class T>
inline void scatter_plane(const T* framed, std::int64_t frame, std::int64_t size,
                          const PatchPosition& position, T* plane, std::int64_t stride,
                          std::int64_t first, std::int64_t last) {
  const bool whole = is_whole<T>(position);
  const BilinearWeights<Vector<T>> weight = weights_at<T>(position);
  const TouchedRows rows(position, whole, size, first, last);
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    const T* row = framed + i * frame;
    scatter_row<T>(row, row - frame, whole, weight, rows.all,
                   plane + (position.row + i) * stride + position.col);
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
  BilinearScatter(const PatchPosition& at, const Planes<T>& seen_canvas, const Planes<T>& gradient,
                  T* carry)
      : r(row_fraction<T>(at)),
        c(col_fraction<T>(at)),
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
  void add(std::int64_t row_index, const Complex<T>* row) {
    Vector<T> re[kVectors<T>], im[kVectors<T>];
    for (int i = 0; i < kVectors<T>; ++i) {
      re[i] = row[i].re;
      im[i] = row[i].im;
    }
    add_plane<kSampling>(0, row_index, re);
    add_plane<kSampling>(1, row_index, im);
  }

  /// The column beyond the last strip.
  void end(const KernelContext<T>& context) {
    for (int plane = 0; plane < 2; ++plane)
      for (std::int64_t i = 0; i <= context.size; ++i)
        to[plane][origin + i * stride + context.stride] +=
            c[0] * carried[(2 * i + plane) * kLanes<T> + kLanes<T> - 1];
  }

  Vector<T> r, c;  // fractions
  std::int64_t stride, origin, column = 0;
  T* to[2];
  const T* seen[2];
  T* carried;
  Vector<T> above[2][kVectors<T>] = {};  // the row before
  PositionSlopes<T> slopes;

 private:
  /// At a whole pixel the slopes are the derivatives towards larger row and col.
  template <Sampling kSampling>
  void add_plane(int plane, std::int64_t row_index, const Vector<T>* row) {
    const std::int64_t start = origin + row_index * stride + column;
    T* carry = carried + (2 * row_index + plane) * kLanes<T>;
    Vector<T> before = column == 0 ? Vector<T>{} : load(carry);
#pragma GCC unroll 4
    for (int i = 0; i < kVectors<T>; ++i) {
      T* at = to[plane] + start + i * kLanes<T>;
      if constexpr (kSampling == Sampling::whole) {
        store(at, load(at) + row[i]);
        continue;
      }
      const Vector<T> upper = above[plane][i], here = lerp<T>(row[i], upper, r);
      store(at, load(at) + lerp<T>(here, shuffle<T>(before, here, OneBack<T>()), c));
      before = here;
      above[plane][i] = row[i];
      if constexpr (kSampling == Sampling::with_slopes) {
        const T* from = seen[plane] + start + i * kLanes<T>;
        const Vector<T> value = load(from), step = load(from + 1) - value;
        slopes.col += here * step;
        slopes.row += (upper - row[i]) * (value + c * step);
      }
    }
    if constexpr (kSampling != Sampling::whole) store(carry, before);
  }
};

}  // namespace ptyche::cpu::PTYCHE_ISA
