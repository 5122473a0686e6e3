#include "ptyche/evaluate/tile_error.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "ptyche/evaluate/align.h"
#include "ptyche/evaluate/image_error.h"

namespace ptyche {
namespace {

constexpr std::int64_t side = 32;

/// Where the tiles of one direction begin.
std::vector<std::int64_t> tile_begins(std::int64_t begin, std::int64_t end) {
  const std::int64_t count = (end - begin) / side;
  std::vector<std::int64_t> begins;
  for (std::int64_t k = 0; k < count; ++k)
    begins.push_back(begin + (end - begin - count * side) / 2 + k * side);
  return begins;
}

std::vector<Window> tiles_with_contrast(const at::Tensor& truth, const Window& window) {
  std::vector<Window> tiles;
  for (const std::int64_t row : tile_begins(window.row_begin, window.row_end))
    for (const std::int64_t col : tile_begins(window.col_begin, window.col_end)) {
      const Window tile{row, row + side, col, col + side};
      if (!is_constant(cut(truth, tile))) tiles.push_back(tile);
    }
  return tiles;
}

double error_of_tile(const at::Tensor& truth, const at::Tensor& image, const Window& tile,
                     const Gauge& start) {
  constexpr double enough = 1e-5;
  const Alignment alignment = realign(truth, image, tile, start, enough);
  return nrmse_contrast(alignment.truth, alignment.aligned);
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

std::optional<TileError> tile_error(const at::Tensor& truth, const at::Tensor& image,
                                    const Window& window, const Gauge& start) {
  const std::vector<Window> tiles = tiles_with_contrast(truth, window);
  std::vector<double> errors(tiles.size());
  at::parallel_for(
      0, static_cast<std::int64_t>(tiles.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k)
          errors[k] = error_of_tile(truth, image, tiles[k], start);
      });
  if (errors.empty()) return std::nullopt;
  const auto count = static_cast<std::int64_t>(errors.size());
  const double sum = std::accumulate(errors.begin(), errors.end(), 0.0);
  return TileError{count, median_of(errors), sum / static_cast<double>(count)};
}

}  // namespace ptyche
