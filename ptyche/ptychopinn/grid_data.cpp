#include "ptyche/ptychopinn/grid_data.h"

#include <ATen/core/grad_mode.h>

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/physics/fourier.h"
#include "ptyche/physics/patches.h"
#include "ptyche/physics/predict.h"
#include "ptyche/simulate/line_drawing.h"
#include "ptyche/simulate/photon_noise.h"

namespace ptyche {
namespace {

constexpr std::int64_t kFramesAtOnce = 256;  // bounds the memory

/// Drawings on one canvas, N pixels of vacuum between them.
struct Drawings {
  at::Tensor object;  // (rows, cols) complex128
  std::vector<Window> images;
};

Drawings draw(const GridDataOptions& options) {
  const std::int64_t size = options.grid.object_size, step = size + options.grid.pattern_size;
  Drawings drawings{
      at::ones({size, options.images * step - options.grid.pattern_size}, at::kComplexDouble), {}};
  for (std::int64_t i = 0; i < options.images; ++i) {
    const Window window{0, size, i * step, i * step + size};
    const at::Tensor amplitude =
        line_drawing(size, options.drawing_seed + static_cast<std::uint32_t>(2 * i));
    const at::Tensor phase =
        options.set_phi ? phase_of_drawing(amplitude) : at::zeros_like(amplitude);
    cut(drawings.object, window).copy_(at::polar(amplitude, phase));
    drawings.images.push_back(window);
  }
  return drawings;
}

/// Corners on the canvas of all images' groups: (images * groups, C, 2) int64.
at::Tensor corners_of(const GridDataOptions& options, const Drawings& drawings) {
  const at::Tensor corners = grid_scan_corners(options.grid);
  std::vector<at::Tensor> all;
  for (const Window& image : drawings.images)
    all.push_back(corners + at::tensor({image.row_begin, image.col_begin}, at::kLong));
  return at::cat(all);
}

/// Largest amplitude and illuminated power of every pattern's patch, (n) float64 each.
std::pair<at::Tensor, at::Tensor> survey(const at::Tensor& object, const at::Tensor& probe,
                                         const at::Tensor& corners) {
  std::vector<at::Tensor> largest, power;
  for (const at::Tensor& batch : corners.split(kFramesAtOnce)) {
    const at::Tensor amplitude =
        extract_patches(object, batch.to(at::kDouble), probe.size(0)).abs();
    largest.push_back(amplitude.flatten(1).amax(1));
    power.push_back((amplitude * probe.abs()).square().sum({1, 2}));
  }
  return {at::cat(largest), at::cat(power)};
}

/// (n, N, N) int32, zero frequency at (N/2, N/2).
at::Tensor count(const ScanFields& fields, std::uint64_t seed) {
  const at::Tensor object = fields.truth.to(at::kComplexDouble);
  const at::Tensor probe = fields.probe.to(at::kComplexDouble);
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < fields.positions.size(0); first += kFramesAtOnce) {
    const at::Tensor positions = fields.positions.slice(0, first, first + kFramesAtOnce);
    const at::Tensor expected =
        predict_intensity(object, probe, positions, Interpolation::probe_fourier, {});
    const at::Tensor frames = at::arange(first, first + positions.size(0), at::kLong);
    parts.push_back(poisson_draws(to_centred(expected), frames, seed, Purpose::noise).to(at::kInt));
  }
  return in_smallest_exact_type(at::cat(parts));
}

/// What the original's stitching keeps: (N - outer / 2) / 2 pixels off each side, rounded up at the
/// near one.
Window tile_of(const GridScanOptions& grid, const at::Tensor& corners, const Window& image) {
  const std::int64_t kept = grid.outer_offset_px / 2;
  const std::int64_t border = (grid.pattern_size - kept + 1) / 2;
  const auto last = corners.select(1, 0).amax(0);
  const std::int64_t side = last[0].item<std::int64_t>() + kept;
  return {image.row_begin + border, image.row_begin + border + side, image.col_begin + border,
          image.col_begin + border + side};
}

}  // namespace

GridData simulate_grid_data(const GridDataOptions& options, const at::Tensor& probe) {
  const at::NoGradGuard no_grad;
  require(options.images >= 1, "images: expected at least 1, found {}", options.images);
  require(options.nphotons > 0 && options.nphotons <= 1e10,
          "nphotons: expected more than 0 and at most 1e10, found {}", options.nphotons);
  const Drawings drawings = draw(options);
  const at::Tensor corners = corners_of(options, drawings);
  const auto [unique, index, unused] = at::unique_dim(corners.view({-1, 2}), 0, true, true);
  const at::Tensor groups = index.view({corners.size(0), corners.size(1)});
  const auto [largest, power] = survey(drawings.object, probe, unique);
  const double norm = largest.index({groups}).amax(1).mean().item<double>();
  const double mean_power = power.index({groups}).mean().item<double>() / (norm * norm);
  ScanFields fields;
  fields.positions = unique.to(at::kDouble) + static_cast<double>(options.grid.pattern_size / 2);
  fields.truth = (drawings.object / norm).to(at::kComplexFloat);
  fields.probe =
      (probe * std::sqrt(options.nphotons / mean_power)).to(at::kComplexFloat).unsqueeze(0);
  fields.counts = count(fields, options.noise_seed);
  fields.source = "drawings of lines";
  GridData data{Scan(std::move(fields)), groups, drawings.images, {}};
  for (const Window& image : data.images)
    data.tiles.push_back(tile_of(options.grid, grid_scan_corners(options.grid), image));
  return data;
}

}  // namespace ptyche
