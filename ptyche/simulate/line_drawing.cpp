#include "ptyche/simulate/line_drawing.h"

#include <cmath>
#include <cstdlib>
#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/data/array.h"

namespace ptyche {
namespace {

constexpr int kLines = 400;

/// Marks the pixels of one line. Along the longer direction every step is one pixel; the other
/// coordinate follows when the line has gone half a pixel or more beyond it.
void draw(at::TensorAccessor<double, 2> raster, const LineEnds& ends) {
  const std::int64_t down = std::abs(ends[2] - ends[0]), right = std::abs(ends[3] - ends[1]);
  const bool steep = down > right;
  const std::int64_t length = steep ? down : right, rise = steep ? right : down;
  const std::int64_t row_step = ends[2] > ends[0] ? 1 : -1, col_step = ends[3] > ends[1] ? 1 : -1;
  std::int64_t row = ends[0], col = ends[1], beyond = 2 * rise - length;
  for (std::int64_t i = 0; i < length; ++i) {
    raster[row][col] = 1;
    if (beyond >= 0) {
      (steep ? col : row) += steep ? col_step : row_step;
      beyond -= 2 * length;
    }
    (steep ? row : col) += steep ? row_step : col_step;
    beyond += 2 * rise;
  }
  raster[ends[2]][ends[3]] = 1;
}

}  // namespace

double mersenne_uniform(std::mt19937& generator) {
  const double high = static_cast<double>(generator() >> 5U);
  const double low = static_cast<double>(generator() >> 6U);
  return (high * 67108864.0 + low) / 9007199254740992.0;  // 2^26, 2^53
}

std::vector<LineEnds> line_ends(std::int64_t size, std::uint32_t seed) {
  require(size >= 2, "line drawing: expected a size of at least 2, found {}", size);
  std::mt19937 generator(seed);
  std::vector<LineEnds> lines(kLines);
  for (LineEnds& ends : lines)
    for (std::int64_t& end : ends)
      end = static_cast<std::int64_t>(2 * static_cast<double>(size) * mersenne_uniform(generator));
  return lines;
}

at::Tensor line_raster(std::int64_t size, std::uint32_t seed) {
  at::Tensor raster = at::zeros({2 * size, 2 * size}, at::kDouble);
  for (const LineEnds& ends : line_ends(size, seed)) draw(raster.accessor<double, 2>(), ends);
  return raster;
}

at::Tensor line_drawing(std::int64_t size, std::uint32_t seed) {
  const at::Tensor raster = line_raster(size, seed);
  const at::Tensor blurred =
      gaussian_filter(raster, 1) + 2 * gaussian_filter(raster, 5) + 5 * gaussian_filter(raster, 10);
  return blurred.narrow(0, size / 2, size).narrow(1, size / 2, size).contiguous();
}

at::Tensor phase_of_drawing(const at::Tensor& amplitude) {
  return std::numbers::pi * at::tanh((amplitude - 0.5 * amplitude.max()) / (3 * amplitude.mean()));
}

}  // namespace ptyche
