// Patches onto canvases, their mean, and back: what the kernels do at one pixel.
//
// A body is called with (row, column) of the grid that it covers, a pixel mostly; kSums numbers are
// added up over the columns of a row.
#pragma once

#include "ptyche/engine/cuda/between_pixels.h"

namespace ptyche::cuda {

/// Weighted mean of the patches at one canvas pixel. Rows: canvases x rows.
template <class T>
struct MergeBody {
  static constexpr int kSums = 3;  // re, im, square of the mean
  Problem<T> problem;

  PTYCHE_BOTH void operator()(std::int64_t line, std::int64_t col, double* sums) const {
    const std::int64_t canvas = line / problem.rows, row = line % problem.rows;
    const TileRange range(problem.tiles, canvas, row, col);
    Complex<T> sum;
    T weight = 0;
    for (std::int64_t i = range.first; i < range.last; ++i)
      add(problem.slots[problem.tiles.slots[i]], row, col, sum, weight);
    normalise(line * problem.cols + col, sum, weight, sums);
  }

 private:
  PTYCHE_BOTH void add(const Slot<T>& slot, std::int64_t row, std::int64_t col, Complex<T>& sum,
                       T& weight) const {
    if (slot.patch < 0) return;
    const Complex<T>* patch = problem.patches + slot.patch * problem.size * problem.size;
    const T* weights = problem.merge_weight + slot.patch * problem.weight_step;
    const Reach<T> reach(slot, problem.size, row, col);
    for (int k = 0; k < reach.count; ++k) {
      const T share = reach.share[k] * weights[reach.at[k]];
      sum += share * patch[reach.at[k]];
      weight += share;
    }
  }

  PTYCHE_BOTH void normalise(std::int64_t at, Complex<T> sum, T weight, double* sums) const {
    const bool lit = weight > problem.dark_weight;
    const T inverse = mean_factor(weight, problem.dark_weight, problem.merge_floor);
    const Complex<T> mean = lit ? inverse * sum : Complex<T>{1, 0};
    problem.canvas[at] = mean;
    problem.inverse[at] = inverse;
    sums[0] += static_cast<double>(mean.re);
    sums[1] += static_cast<double>(mean.im);
    sums[2] += static_cast<double>(dot(mean, mean));
  }
};

/// Gradient of what the patterns saw, gathered at one canvas pixel and added. Rows: canvas rows
/// from first_line on.
template <class T>
struct ScatterBody {
  static constexpr int kSums = 0;
  Problem<T> problem;
  Chunk<T> chunk;
  std::int64_t first_line = 0;

  PTYCHE_BOTH void operator()(std::int64_t line_here, std::int64_t col, double*) const {
    const std::int64_t line = first_line + line_here;
    const std::int64_t canvas = line / problem.rows, row = line % problem.rows;
    const TileRange range(problem.tiles, canvas, row, col);
    Complex<T> sum;
    for (std::int64_t i = range.first; i < range.last; ++i) {
      const std::int64_t k = problem.tiles.slots[i] - chunk.first;
      if (k < 0) continue;
      if (k >= chunk.count) break;
      const Complex<T>* back = chunk.back + k * problem.size * problem.size;
      const Reach<T> reach(problem.slots[chunk.first + k], problem.size, row, col);
      for (int n = 0; n < reach.count; ++n) sum += reach.share[n] * back[reach.at[n]];
    }
    problem.canvas_gradient[line * problem.cols + col] += sum;
  }
};

/// Gradient of the mean -> of the weighted sum; `inverse` becomes by which the weights
/// move with their positions. Rows: canvases x rows.
template <class T>
struct NormaliseBackwardBody {
  static constexpr int kSums = 0;
  Problem<T> problem;

  PTYCHE_BOTH void operator()(std::int64_t line, std::int64_t col, double*) const {
    const std::int64_t at = line * problem.cols + col;
    const Complex<T> gradient = problem.inverse[at] * problem.canvas_gradient[at];
    problem.canvas_gradient[at] = gradient;
    problem.inverse[at] = dot(gradient, problem.canvas[at]);
  }
};

/// Gradient of one pixel of a merged patch, and what its place answers for. Rows: slots of the
/// chunk x N.
template <class T>
struct PatchGradientBody {
  static constexpr int kSums = 2;  // by row and by column of the corner
  Problem<T> problem;
  Chunk<T> chunk;

  PTYCHE_BOTH void operator()(std::int64_t line, std::int64_t j, double* sums) const {
    const std::int64_t size = problem.size, i = line % size;
    const Slot<T> slot = problem.slots[chunk.first + line / size];
    if (slot.patch < 0) return;
    const std::int64_t pixel = i * size + j, at = slot.patch * size * size + pixel;
    const Quad<Complex<T>, T> by_sum(problem, problem.canvas_gradient, slot, i, j);
    const T weight = problem.merge_weight[slot.patch * problem.weight_step + pixel];
    problem.patch_gradient[at] = weight * value(by_sum);
    if (problem.moved_probe) return;
    const Quad<T, T> by_weight(problem, problem.inverse, slot, i, j);
    const Complex<T> patch = problem.patches[at];
    sums[0] += static_cast<double>(weight * (dot(patch, by_row(by_sum)) - by_row(by_weight)));
    sums[1] += static_cast<double>(weight * (dot(patch, by_col(by_sum)) - by_col(by_weight)));
  }
};

}  // namespace ptyche::cuda
