// Bilinear interpolation between canvas and patch, its adjoint, and its derivative by position, for
// one pixel.
#pragma once

#include "ptyche/engine/cuda/problem.h"

namespace ptyche::cuda {

/// The canvas under one pixel of a patch: the value there, and the steps to its neighbours. Where
/// the patch lies at the canvas's last row or column the neighbours are the pixel itself (their
/// weight is 0), as in the reference engine.
template <class V, class T>
struct Quad {
  V here, right, below, below_right;
  T r, c;

  PTYCHE_BOTH Quad(const Problem<T>& problem, const V* canvases, const Slot<T>& slot,
                   std::int64_t i, std::int64_t j)
      : r(slot.row_fraction), c(slot.col_fraction) {
    const V* at =
        canvases + (slot.canvas * problem.rows + slot.row + i) * problem.cols + slot.col + j;
    const std::int64_t down = slot.row + problem.size < problem.rows ? problem.cols : 0;
    const std::int64_t across = slot.col + problem.size < problem.cols ? 1 : 0;
    here = at[0];
    right = at[across];
    below = at[down];
    below_right = at[down + across];
  }
};

PTYCHE_BOTH inline float minus(float a, float b) { return a - b; }
PTYCHE_BOTH inline double minus(double a, double b) { return a - b; }
template <class T>
PTYCHE_BOTH inline Complex<T> minus(Complex<T> a, Complex<T> b) {
  return a - b;
}

template <class V, class T>
PTYCHE_BOTH inline V between(V a, V b, T share) {
  V value = a;
  value += share * minus(b, a);
  return value;
}

/// What the pixel sees. At a whole pixel exactly the canvas, NaN in the neighbours or not.
template <class V, class T>
PTYCHE_BOTH inline V value(const Quad<V, T>& s) {
  if (s.r == 0 && s.c == 0) return s.here;
  return between(between(s.here, s.right, s.c), between(s.below, s.below_right, s.c), s.r);
}

/// Its derivatives by the patch's row and column; at a whole pixel those towards larger ones.
template <class V, class T>
PTYCHE_BOTH inline V by_row(const Quad<V, T>& s) {
  return between(minus(s.below, s.here), minus(s.below_right, s.right), s.c);
}
template <class V, class T>
PTYCHE_BOTH inline V by_col(const Quad<V, T>& s) {
  return between(minus(s.right, s.here), minus(s.below_right, s.below), s.r);
}

/// The adjoint of `value` at one canvas pixel: which pixels of the slot's patch reach it, and with
/// which share; `count` of them, at flat indices `at`.
template <class T>
struct Reach {
  int count = 0;
  std::int64_t at[4] = {};
  T share[4] = {};

  PTYCHE_BOTH Reach(const Slot<T>& slot, std::int64_t size, std::int64_t row, std::int64_t col) {
    const T r = slot.row_fraction, c = slot.col_fraction;
    const std::int64_t i = row - slot.row, j = col - slot.col;
    const BilinearWeights<T> weight = bilinear_weights(r, c);
    add(size, i, j, weight.here);
    add(size, i, j - 1, weight.right);
    add(size, i - 1, j, weight.below);
    add(size, i - 1, j - 1, weight.below_right);
  }

 private:
  PTYCHE_BOTH void add(std::int64_t size, std::int64_t i, std::int64_t j, T weight) {
    if (weight == 0 || i < 0 || j < 0 || i >= size || j >= size) return;
    at[count] = i * size + j;
    share[count++] = weight;
  }
};

/// The list of the tile in which a canvas pixel lies.
struct TileRange {
  std::int64_t first, last;

  PTYCHE_BOTH TileRange(const Tiles& tiles, std::int64_t canvas, std::int64_t row,
                        std::int64_t col) {
    const std::int64_t tile = (canvas * tiles.down + row / kTile) * tiles.across + col / kTile;
    first = tiles.first[tile];
    last = tiles.first[tile + 1];
  }
};

}  // namespace ptyche::cuda
