// Bilinear interpolation between canvas and patch, and its derivative by position.
//
// Rows of a canvas have spare columns at their end, and a spare row stands below. Framed planes
// have kFrame zeros before and after every row, a row of zeros above and below, so that a pixel has
// neighbours everywhere.
#pragma once

#include "ptyche/engine/cpu/loss_task.h"
#include "ptyche/engine/cpu/square_fft.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// A place in the numbers of a kernel.
template <class T>
struct Spot {
  explicit Spot(const Place& place)
      : row(place.row),
        col(place.col),
        r(broadcast(static_cast<T>(place.row_fraction))),
        c(broadcast(static_cast<T>(place.col_fraction))),
        weight(bilinear_weights(r, c)),
        whole(static_cast<T>(place.row_fraction) == 0 && static_cast<T>(place.col_fraction) == 0) {}

  std::int64_t row, col;
  Vector<T> r, c;  // fractions
  BilinearWeights<Vector<T>> weight;
  bool whole;
};

/// Vectors in a row of a strip.
template <class T>
inline constexpr int kVectors = kStrip<T> / kLanes<T>;

template <class T>
inline Vector<T> between(Vector<T> a, Vector<T> b, Vector<T> share) {
  return a + share * (b - a);
}

/// The four canvas pixels around every pixel of one vector.
template <class T>
struct Square {
  Square(const T* upper, std::int64_t stride)
      : here(load(upper)),
        right(load(upper + 1) - here),
        below(load(upper + stride)),
        below_right(load(upper + stride + 1) - below) {}

  Vector<T> here, right, below, below_right;  // `right` ones as differences

  Vector<T> value(const Spot<T>& spot) const {
    const Vector<T> top = here + spot.c * right;
    return top + spot.r * (below + spot.c * below_right - top);
  }
  Vector<T> by_row(const Spot<T>& spot) const {
    return below - here + spot.c * (below_right - right);
  }
  Vector<T> by_col(const Spot<T>& spot) const { return right + spot.r * (below_right - right); }
};

/// How a patch meets its canvas: at whole pixels, between them, or with the slopes by position too.
enum class Way { whole, between, with_slopes };

/// What one vector of patch pixels sees of a canvas plane, between pixels.
template <class T>
inline Vector<T> see_value(const T* from, std::int64_t stride, const Spot<T>& spot) {
  return spot.weight.here * load(from) + spot.weight.right * load(from + 1) +
         spot.weight.below * load(from + stride) +
         spot.weight.below_right * load(from + stride + 1);
}

/// Columns first.. of what a patch at `spot` sees of a canvas plane -> striped plane. A row's mix
/// of left and right serves the row above it, too.
template <class T, bool Whole>
inline void see_columns(const T* plane, std::int64_t stride, const Spot<T>& spot, std::int64_t size,
                        std::int64_t first, T* to) {
  const T* from = plane + spot.row * stride + spot.col + first;
  const Vector<T> r = spot.r, c = spot.c;
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
      const Vector<T> row = between<T>(here, load(from + k * kLanes<T> + 1), c);
      if (i > 0) store(at + (i - 1) * kStrip<T> + k * kLanes<T>, between<T>(top[k], row, r));
      top[k] = row;
    }
  }
}

/// The strip first.. of the patch at `spot`.
template <class T>
inline void see_strip(const LossTask<T>& task, const Canvas<T>& canvas, const Spot<T>& spot,
                      std::int64_t first, Planes<T> to) {
  const auto columns = spot.whole ? &see_columns<T, true> : &see_columns<T, false>;
  columns(canvas.re, canvas.stride, spot, task.size, first, to.re);
  columns(canvas.im, canvas.stride, spot, task.size, first, to.im);
}

/// What two rows of a patch add to a row of canvas pixels 0..count-1: `row` lies on them, `above`
/// is the one before.
template <class T>
inline void spread_row(const T* row, const T* above, const Spot<T>& spot, std::int64_t count,
                       T* to) {
  if (spot.whole)
    for (std::int64_t j = 0; j < count; j += kLanes<T>) store(to + j, load(to + j) + load(row + j));
  else
    for (std::int64_t j = 0; j < count; j += kLanes<T>)
      store(to + j, load(to + j) + spot.weight.here * load(row + j) +
                        spot.weight.right * load(row + j - 1) +
                        spot.weight.below * load(above + j) +
                        spot.weight.below_right * load(above + j - 1));
}

/// Rows of a patch, from its first, that touch canvas rows first..last-1.
template <class T>
struct Touched {
  Touched(const Spot<T>& spot, std::int64_t size, std::int64_t first, std::int64_t last)
      : all(spot.whole ? size : size + 1),
        begin(first > spot.row ? first - spot.row : 0),
        end(last - spot.row < all ? last - spot.row : all) {}

  std::int64_t all, begin, end;  // `all` rows, and columns, touch the canvas
};

/// The adjoint of see_strip for a whole plane: adds a framed plane into those rows of a canvas
/// plane that lie in first..last-1 (threads own bands of a canvas).
template <class T>
inline void spread(const T* framed, std::int64_t frame, std::int64_t size, const Spot<T>& spot,
                   T* plane, std::int64_t stride, std::int64_t first, std::int64_t last) {
  const Touched<T> rows(spot, size, first, last);
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    const T* row = framed + i * frame;
    spread_row(row, row - frame, spot, rows.all, plane + (spot.row + i) * stride + spot.col);
  }
}

/// Derivatives by row and col, summed in the lanes.
template <class T>
struct Slopes {
  Vector<T> row{}, col{};
};

}  // namespace ptyche::cpu::PTYCHE_ISA
