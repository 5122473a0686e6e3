#include "ptyche/evaluate/image_error.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/data/array.h"
#include "ptyche/evaluate/align.h"

namespace ptyche {

double nrmse(const at::Tensor& truth, const at::Tensor& image) {
  return ((truth - image).norm() / truth.norm()).item<double>();
}

double nrmse_contrast(const at::Tensor& truth, const at::Tensor& image) {
  return ((truth - image).norm() / (truth - truth.mean()).norm()).item<double>();
}

double amplitude_rmse(const at::Tensor& truth, const at::Tensor& image) {
  return std::sqrt((truth.abs() - image.abs()).square().mean().item<double>());
}

at::Tensor phase_difference(const at::Tensor& truth, const at::Tensor& image) {
  return (image * truth.conj()).angle();
}

double phase_rmse_rad(const at::Tensor& truth, const at::Tensor& image) {
  const at::Tensor counted = truth.abs().gt(0);
  const at::Tensor squares = phase_difference(truth, image).square().masked_select(counted);
  return std::sqrt(squares.mean().item<double>());
}

double low_frequency_phase_rad(const at::Tensor& truth, const at::Tensor& image) {
  constexpr std::int64_t kBlock = 16;
  const std::int64_t down = truth.size(0) / kBlock, across = truth.size(1) / kBlock;
  const at::Tensor product =
      (image * truth.conj()).narrow(0, 0, down * kBlock).narrow(1, 0, across * kBlock);
  const at::Tensor blocks = product.reshape({down, kBlock, across, kBlock}).sum({1, 3});
  return std::sqrt(blocks.angle().square().mean().item<double>());
}

at::Tensor centred_phase(const at::Tensor& image) { return (image * image.mean().conj()).angle(); }

double range_of(const at::Tensor& values) { return (values.max() - values.min()).item<double>(); }

bool is_constant(const at::Tensor& image) {
  return (image - image.mean()).norm().item<double>() <= 1e-9 * image.norm().item<double>();
}

namespace {

void require_window_fits(const at::Tensor& truth, const at::Tensor& image,
                         const SsimWindow& window) {
  const std::int64_t least = window.weights.size(0);
  require(truth.sizes() == image.sizes() && truth.dim() == 2 && truth.size(0) >= least &&
              truth.size(1) >= least,
          "structural similarity: expected two images of one shape, at least {0} x {0}, found {1} "
          "and {2}",
          least, fmt::join(truth.sizes(), " x "), fmt::join(image.sizes(), " x "));
}

at::Tensor ssim_map(const at::Tensor& x, const at::Tensor& y, const SsimWindow& window,
                    double range) {
  const auto mean = [&](const at::Tensor& image) { return separable_mean(image, window.weights); };
  const double c1 = 0.01 * 0.01 * range * range, c2 = 0.03 * 0.03 * range * range;
  const at::Tensor mean_x = mean(x), mean_y = mean(y);
  const at::Tensor variance_x = window.variance_factor * (mean(x * x) - mean_x * mean_x);
  const at::Tensor variance_y = window.variance_factor * (mean(y * y) - mean_y * mean_y);
  const at::Tensor covariance = window.variance_factor * (mean(x * y) - mean_x * mean_y);
  return (2 * mean_x * mean_y + c1) * (2 * covariance + c2) /
         ((mean_x * mean_x + mean_y * mean_y + c1) * (variance_x + variance_y + c2));
}

}  // namespace

double ssim(const at::Tensor& truth, const at::Tensor& image, const SsimWindow& window,
            double range) {
  require_window_fits(truth, image, window);
  return ssim_map(truth, image, window, range).mean().item<double>();
}

std::optional<double> ssim(const at::Tensor& truth, const at::Tensor& image) {
  const SsimWindow window{gaussian_weights(1.5, 5)};
  require_window_fits(truth, image, window);
  const double range = range_of(truth);
  if (range <= 1e-9 * truth.abs().max().item<double>()) return std::nullopt;
  return ssim(truth, image, window, range);
}

namespace {

constexpr std::int64_t kTileSide = 32;

/// Where the tiles of one direction begin.
std::vector<std::int64_t> tile_begins(std::int64_t begin, std::int64_t end) {
  const std::int64_t count = (end - begin) / kTileSide;
  std::vector<std::int64_t> begins;
  for (std::int64_t k = 0; k < count; ++k)
    begins.push_back(begin + (end - begin - count * kTileSide) / 2 + k * kTileSide);
  return begins;
}

std::vector<Window> tiles_with_contrast(const at::Tensor& truth, const Window& window) {
  std::vector<Window> tiles;
  for (const std::int64_t row : tile_begins(window.row_begin, window.row_end))
    for (const std::int64_t col : tile_begins(window.col_begin, window.col_end)) {
      const Window tile{row, row + kTileSide, col, col + kTileSide};
      if (!is_constant(cut(truth, tile))) tiles.push_back(tile);
    }
  return tiles;
}

double error_of_tile(const at::Tensor& truth, const at::Tensor& image, const Window& tile,
                     const Gauge& start) {
  constexpr double kEnough = 1e-5;
  const Alignment alignment = realign(truth, image, tile, start, kEnough);
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

at::Tensor blurred_by_one_px(const at::Tensor& image) {
  return gaussian_filter(image.to(at::kComplexDouble), 1, 5, Border::continued);
}

}  // namespace ptyche
