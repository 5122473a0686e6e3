// Bilinear interpolation between canvas and patch, and its derivative by position.
//
// Planes of a patch are framed: kFrame zeros before and after every row, a row of zeros above and
// below, so that a pixel has neighbours everywhere. Rows of a canvas have spare columns at their
// end, and a spare row stands below.
#pragma once

#include "ptyche/physics/cpu/loss_task.h"
#include "ptyche/physics/cpu/square_fft.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// A place in the numbers of a kernel.
template <class T>
struct Spot {
  explicit Spot(const Place& place)
      : row(place.row),
        col(place.col),
        r(broadcast(static_cast<T>(place.row_fraction))),
        c(broadcast(static_cast<T>(place.col_fraction))),
        here((1 - r) * (1 - c)),
        right((1 - r) * c),
        below(r * (1 - c)),
        below_right(r * c),
        whole(static_cast<T>(place.row_fraction) == 0 && static_cast<T>(place.col_fraction) == 0) {}

  std::int64_t row, col;
  Vector<T> r, c, here, right, below, below_right;  // fractions, and the weights they make
  bool whole;
};

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

/// What one vector of patch pixels sees of a canvas plane, between pixels.
template <class T>
inline Vector<T> see_value(const T* from, std::int64_t stride, const Spot<T>& spot) {
  return spot.here * load(from) + spot.right * load(from + 1) + spot.below * load(from + stride) +
         spot.below_right * load(from + stride + 1);
}

/// What a patch at `spot` sees of a canvas plane -> (size, size) striped plane.
template <class T>
inline void see(const T* plane, std::int64_t stride, const Spot<T>& spot, std::int64_t size,
                T* to) {
  for (std::int64_t i = 0; i < size; ++i) {
    const T* from = plane + (spot.row + i) * stride + spot.col;
    for (std::int64_t j = 0; j < size; j += kLanes<T>)
      store(to + striped<T>(size, i, j),
            spot.whole ? load(from + j) : see_value(from + j, stride, spot));
  }
}

/// What a framed plane adds to one vector of canvas pixels: `row` points at its pixel there.
template <class T>
inline Vector<T> spread_value(const T* row, std::int64_t frame, const Spot<T>& spot) {
  return spot.here * load(row) + spot.right * load(row - 1) + spot.below * load(row - frame) +
         spot.below_right * load(row - frame - 1);
}

/// The adjoint of see: adds a framed plane into those rows of a canvas plane that lie in
/// first..last-1 (threads own bands of a canvas).
template <class T>
inline void spread(const T* framed, std::int64_t frame, std::int64_t size, const Spot<T>& spot,
                   T* plane, std::int64_t stride, std::int64_t first, std::int64_t last) {
  const std::int64_t end = spot.whole ? size : size + 1;
  const std::int64_t begin = first > spot.row ? first - spot.row : 0;
  const std::int64_t stop = last - spot.row < end ? last - spot.row : end;
  for (std::int64_t i = begin; i < stop; ++i) {
    const T* row = framed + i * frame;
    T* to = plane + (spot.row + i) * stride + spot.col;
    for (std::int64_t j = 0; j < end; j += kLanes<T>)
      store(to + j,
            load(to + j) + (spot.whole ? load(row + j) : spread_value<T>(row + j, frame, spot)));
  }
}

/// Derivatives by row and col, summed in the lanes.
template <class T>
struct Slopes {
  Vector<T> row{}, col{};
};

/// spread of a gradient, and sum of gradient x d(see)/d(row, col) of `seen`. At a whole pixel that
/// is the derivative towards larger row and col.
template <class T>
inline void spread_with_slopes(const T* framed, std::int64_t frame, std::int64_t size,
                               const Spot<T>& spot, const T* seen, T* plane, std::int64_t stride,
                               Slopes<T>& slopes) {
  for (std::int64_t i = 0; i <= size; ++i) {
    const T* row = framed + i * frame;
    const std::int64_t start = (spot.row + i) * stride + spot.col;
    for (std::int64_t j = 0; j <= size; j += kLanes<T>) {
      const Vector<T> lower = load(row + j), upper = load(row + j - frame);
      const Vector<T> here = between<T>(lower, upper, spot.r);
      const Vector<T> left = between<T>(load(row + j - 1), load(row + j - frame - 1), spot.r);
      T* to = plane + start + j;
      store(to, load(to) + between<T>(here, left, spot.c));
      const Vector<T> value = load(seen + start + j), step = load(seen + start + j + 1) - value;
      slopes.col += here * step;
      slopes.row += (upper - lower) * (value + spot.c * step);
    }
  }
}

}  // namespace ptyche::cpu::PTYCHE_ISA
