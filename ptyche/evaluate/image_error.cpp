#include "ptyche/evaluate/image_error.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
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

PixelMoments pixel_moments(const at::Tensor& image) {
  constexpr std::int64_t kPixelsAtOnce = std::int64_t{1} << 18;  // that are made complex128
  const at::Tensor pixels = image.flatten();
  if (pixels.numel() == 0) return {};
  const auto all = static_cast<double>(pixels.numel());
  const auto each = [&](const auto& visit) {
    for (const at::Tensor& some : pixels.split(kPixelsAtOnce))
      visit(some.to(at::kComplexDouble).resolve_conj());
  };
  const auto squares = [](const at::Tensor& of) {
    return at::view_as_real(of).square().sum().item<double>();
  };
  PixelMoments moments;
  each([&](const at::Tensor& some) {
    moments.mean += some.sum().item<c10::complex<double>>() / all;
    moments.amplitude += squares(some) / all;
  });
  each([&](const at::Tensor& some) { moments.deviation += squares(some - moments.mean) / all; });
  moments.amplitude = std::sqrt(moments.amplitude);
  moments.deviation = std::sqrt(moments.deviation);
  return moments;
}

bool is_constant(const at::Tensor& image) {
  const PixelMoments moments = pixel_moments(image);
  return moments.deviation <= 1e-9 * moments.amplitude;
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

double error_of_tile(bool constant, const at::Tensor& truth, const at::Tensor& image,
                     const Window& tile, const Gauge& start) {
  constexpr double kEnough = 1e-5;
  const Alignment alignment = realign_known(constant, truth, image, tile, start, kEnough);
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
  const bool constant = is_constant(image);
  std::vector<double> errors(tiles.size());
  at::parallel_for(
      0, static_cast<std::int64_t>(tiles.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k)
          errors[k] = error_of_tile(constant, truth, image, tiles[k], start);
      });
  if (errors.empty()) return std::nullopt;
  const auto count = static_cast<std::int64_t>(errors.size());
  const double sum = std::accumulate(errors.begin(), errors.end(), 0.0);
  return TileError{count, median_of(errors), sum / static_cast<double>(count)};
}

at::Tensor blurred_by_one_px(const at::Tensor& image) {
  return gaussian_filter(image.to(at::kComplexDouble), 1, 5, Border::continued);
}

namespace {

constexpr std::size_t kFirstRing = 4;

/// sin^2 fade of both ends over an eighth of the length, 1 between.
at::Tensor fade(std::int64_t size) {
  const at::Tensor index = at::arange(size, at::kDouble);
  const at::Tensor to_edge = at::minimum(index, static_cast<double>(size - 1) - index) + 0.5;
  const double width = static_cast<double>(std::max<std::int64_t>(1, size / 8));
  return (0.5 * M_PI * (to_edge / width).clamp_max(1)).sin().square();
}

/// The number of the ring of each pixel of an n x n spectrum, flat.
at::Tensor ring_numbers(std::int64_t size) {
  const at::Tensor frequency = at::fft_fftfreq(size, 1.0, at::kDouble) * static_cast<double>(size);
  return at::hypot(frequency.unsqueeze(1), frequency.unsqueeze(0)).round().to(at::kLong).flatten();
}

/// The threshold for a signal-to-noise ratio whose doubled root is `twice_root`; `count` is the
/// square root of each ring's independent pixels.
at::Tensor threshold(double ratio, double twice_root, const at::Tensor& count) {
  return (ratio + (1 + twice_root) / count) / (1 + ratio + twice_root / count);
}

double crossing_of(const RingCorrelation& rings, const std::vector<double>& threshold) {
  std::vector<double> excess;
  for (std::size_t ring = 0; ring < threshold.size(); ++ring)
    excess.push_back(rings.correlation[ring] - threshold[ring]);
  const auto last = static_cast<double>(excess.size() - 1);
  return std::min(falling_ring(excess, kFirstRing) / last, 1.0) * rings.cycles_per_px.back();
}

}  // namespace

RingSums ring_sums(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor ring = ring_numbers(a.size(0));
  const auto sum = [&](const at::Tensor& values) {
    return at::bincount(ring, values.contiguous());
  };
  const at::Tensor of_a = at::fft_fft2(a).flatten(), of_b = at::fft_fft2(b).flatten();
  return {sum(at::real(of_a * of_b.conj())), sum(of_a.abs().square()), sum(of_b.abs().square()),
          sum(at::ones_like(ring, at::kDouble))};
}

double falling_ring(const std::vector<double>& excess, std::size_t first) {
  std::size_t known = first;
  for (std::size_t ring = first; ring < excess.size(); ++ring) {
    if (std::isnan(excess[ring])) continue;
    const auto here = static_cast<double>(ring), before = static_cast<double>(known);
    if (excess[ring] < 0) {
      if (ring == first || !(excess[known] >= 0)) return here;
      return before + (here - before) * excess[known] / (excess[known] - excess[ring]);
    }
    known = ring;
  }
  const bool told = known > first || excess.size() <= first + 1;
  return told ? static_cast<double>(excess.size()) : std::numeric_limits<double>::quiet_NaN();
}

RingCorrelation fourier_ring_correlation(const at::Tensor& a, const at::Tensor& b) {
  require(a.sizes() == b.sizes() && a.dim() == 2 && std::min(a.size(0), a.size(1)) >= 8,
          "Fourier ring correlation: expected two images of one shape, at least 8 x 8, found {} "
          "and {}",
          fmt::join(a.sizes(), " x "), fmt::join(b.sizes(), " x "));
  const std::int64_t size = std::min(a.size(0), a.size(1)), rings = size / 2 + 1;
  const at::Tensor weight = at::outer(fade(size), fade(size));
  const auto faded = [&](const at::Tensor& image) {
    const at::Tensor mean_free = (image - image.mean()).narrow(0, 0, size).narrow(1, 0, size);
    return mean_free.to(at::kComplexDouble) * weight;
  };
  const RingSums sums = ring_sums(faded(a), faded(b));
  const auto inner = [&](const at::Tensor& values) { return values.narrow(0, 0, rings); };
  const at::Tensor power = (inner(sums.power_a) * inner(sums.power_b)).sqrt();
  const at::Tensor squares = weight.square();
  const double independent = (squares.sum().square() / squares.square().sum()).item<double>() /
                             static_cast<double>(size * size);
  const at::Tensor root = (inner(sums.pixels) * independent).sqrt();
  return {to_vector(at::arange(rings, at::kDouble) / static_cast<double>(size)),
          to_vector(at::where(power.gt(0), inner(sums.agreement) / power, 0.0)),
          to_vector(threshold(0.2071, 0.9102, root)), to_vector(threshold(0.5, 1.4142, root))};
}

double crossing(const RingCorrelation& rings, double threshold) {
  return crossing_of(rings, std::vector<double>(rings.cycles_per_px.size(), threshold));
}

double half_bit_crossing(const RingCorrelation& rings) {
  return crossing_of(rings, rings.half_bit);
}

double one_bit_crossing(const RingCorrelation& rings) { return crossing_of(rings, rings.one_bit); }

RingCrossings crossings(const RingCorrelation& rings) {
  return {half_bit_crossing(rings), one_bit_crossing(rings), crossing(rings, 0.5),
          crossing(rings, 1.0 / 7)};
}

}  // namespace ptyche
