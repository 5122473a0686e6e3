#include "ptyche/ptychopinn/grid_data.h"

#include <ATen/core/grad_mode.h>

#include <array>
#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/data/array.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/ptychopinn/operators.h"
#include "ptyche/simulate/objects.h"
#include "ptyche/simulate/probes.h"
#include "ptyche/simulate/simulate.h"
#include "ptyche/storage/numpy.h"

namespace ptyche {
namespace {

/// Row-major (rows, cols) of `count` x `count` points `step` apart, (count^2, 2) int64.
at::Tensor lattice(std::int64_t count, std::int64_t step) {
  const at::Tensor index = at::arange(count * count, at::kLong);
  return step * at::stack({index.div(count, "floor"), index.remainder(count)}, 1);
}

/// `work` on real and imaginary part, (rows, cols) float64 each.
template <class Work>
at::Tensor by_parts(const at::Tensor& image, const Work& work) {
  return at::complex(work(at::real(image).contiguous()), work(at::imag(image).contiguous()));
}

at::Tensor read_probe(const std::filesystem::path& file) {
  require(!file.empty(), "probe source custom: expected a file, give --probe-npz");
  return with_context(file.string(), [&] {
    const NpzFile npz(file);
    at::Tensor probe = npz.read(npz.first_of({"probeGuess", "probe"})).values.squeeze();
    if (probe.dim() == 3) probe = probe[0];
    require(probe.dim() == 2 && probe.size(0) == probe.size(1),
            "probeGuess: expected (n, n), found {}", describe(probe));
    return probe.to(at::kComplexDouble);
  });
}

/// Pixels to add on the left, right, top, bottom.
std::array<std::int64_t, 4> room_around(const at::Tensor& probe, std::int64_t size) {
  const std::int64_t room = size - probe.size(0), near = room / 2;
  require(room >= 0,
          "probeGuess: {0} x {0} pixels cannot be padded to {1} x {1}; --probe-scale-mode "
          "interpolate would shrink it",
          probe.size(0), size);
  return {near, room - near, near, room - near};
}

at::Tensor padded(const at::Tensor& probe, std::int64_t size) {
  return at::constant_pad_nd(probe, room_around(probe, size));
}

/// Sums over one axis of a probe, weights |P|^2: of the phase's steps d from pixel to pixel and of
/// the places x between these, from pixel n / 2.
struct PhaseSteps {
  double mean_place = 0, mean_step = 0, covariance = 0, variance = 0;
};

PhaseSteps phase_steps(const at::Tensor& probe, std::int64_t axis) {
  const std::int64_t size = probe.size(axis);
  const at::Tensor product = probe.slice(axis, 1) * probe.slice(axis, 0, size - 1).conj();
  const at::Tensor weight = product.abs() / product.abs().sum(), step = product.angle();
  const at::Tensor line = at::arange(size - 1, at::kDouble) + 0.5 - static_cast<double>(size / 2);
  const at::Tensor place = (axis == 0 ? line.unsqueeze(1) : line).expand_as(step);
  const auto mean = [&](const at::Tensor& of) { return (weight * of).sum().item<double>(); };
  PhaseSteps sums{.mean_place = mean(place), .mean_step = mean(step)};
  sums.covariance = mean((place - sums.mean_place) * (step - sums.mean_step));
  sums.variance = mean((place - sums.mean_place).square());
  return sums;
}

/// Amplitude of the nearest edge pixel, and the tilt and curvature that fit the probe's phase best.
at::Tensor extrapolated(const at::Tensor& probe, std::int64_t size) {
  const auto room = room_around(probe, size);
  const PhaseSteps row = phase_steps(probe, 0), col = phase_steps(probe, 1);
  const double curvature = (row.covariance + col.covariance) / (row.variance + col.variance);
  const at::Tensor x =
      at::arange(size, at::kDouble) - static_cast<double>(room[0] + probe.size(0) / 2);
  const auto along = [&](const PhaseSteps& steps) {
    return x * (steps.mean_step - curvature * steps.mean_place) + 0.5 * curvature * x.square();
  };
  const at::Tensor phase = along(row).unsqueeze(1) + along(col);
  const auto inside = [&](const at::Tensor& image) {
    return image.narrow(0, room[2], probe.size(0)).narrow(1, room[0], probe.size(0));
  };
  const at::Tensor wave = at::polar(at::ones_like(phase), phase);
  const at::Tensor offset = (probe * inside(wave).conj()).sum();
  const at::Tensor amplitude = at::replication_pad2d(probe.abs().unsqueeze(0), room).squeeze(0);
  at::Tensor whole = amplitude * wave * (offset / offset.abs());
  inside(whole).copy_(probe);
  return whole;
}

at::Tensor stretched(const at::Tensor& probe, std::int64_t size) {
  return by_parts(probe, [size](const at::Tensor& part) {
    return at::upsample_bicubic2d(part.unsqueeze(0).unsqueeze(0), {size, size}, false)[0][0];
  });
}

constexpr std::int64_t kFramesAtOnce = 256;  // bounds the memory

at::Tensor probe_of_size(std::int64_t size, const GridProbeOptions& options) {
  if (options.source == "ideal_disk")
    return smoothed_probe(default_probe(size).to(at::kComplexDouble), options.smoothing_px);
  const at::Tensor probe = smoothed_probe(read_probe(options.file), options.smoothing_px);
  if (options.scale_mode == "interpolate") return stretched(probe, size);
  return options.scale_mode == "pad_extrapolate" ? extrapolated(probe, size) : padded(probe, size);
}

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

/// What PtychoPINN's stitching keeps: (N - outer / 2) / 2 pixels off each side, rounded up at the
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

at::Tensor grid_scan_corners(const GridScanOptions& options) {
  require(options.pattern_size >= 2 && options.gridsize >= 1 && options.offset_px >= 1,
          "grid scan: expected N >= 2, gridsize >= 1 and offset >= 1, found {}, {} and {}",
          options.pattern_size, options.gridsize, options.offset_px);
  require(options.outer_offset_px >= 2 && options.outer_offset_px % 2 == 0,
          "grid scan: expected an even outer offset of at least 2, found {}",
          options.outer_offset_px);
  const std::int64_t group_size = options.pattern_size + (options.gridsize - 1) * options.offset_px;
  require(group_size <= options.object_size,
          "grid scan: expected an object of at least {} px for one group, found {}", group_size,
          options.object_size);
  const std::int64_t step = options.outer_offset_px / 2;
  const std::int64_t count = (options.object_size - group_size) / step + 1;
  return lattice(count, step).unsqueeze(1) + lattice(options.gridsize, options.offset_px);
}

GridScales grid_scales(const at::Tensor& object, const at::Tensor& probe, const at::Tensor& corners,
                       const at::Tensor& groups, double nphotons) {
  require(object.dim() == 2 && probe.dim() == 2 && corners.dim() == 2 && groups.dim() == 2,
          "grid scales: expected object (rows, cols), probe (N, N), corners (n, 2) and groups "
          "(groups, C), found {}, {}, {} and {}",
          describe(object), describe(probe), describe(corners), describe(groups));
  const auto [largest, power] = survey(object, probe, corners);
  GridScales scales;
  scales.object_norm = largest.index({groups}).amax(1).mean().item<double>();
  require(scales.object_norm > 0, "grid scales: expected an object with amplitude > 0");
  const double mean_power =
      power.index({groups}).mean().item<double>() / (scales.object_norm * scales.object_norm);
  scales.intensity = std::sqrt(nphotons / mean_power);
  return scales;
}

std::vector<Field> fields(GridProbeOptions& options) {
  return {{.name = "probe-source",
           .target = &options.source,
           .help = "the probe: a disc with a soft edge, or that of a file",
           .choices = {"ideal_disk", "custom"}},
          {.name = "probe-npz",
           .target = &options.file,
           .help = "file with probeGuess, for --probe-source custom"},
          {.name = "probe-scale-mode",
           .target = &options.scale_mode,
           .help = "method by which the file's probe is brought to N x N pixels",
           .choices = {"pad_preserve", "pad_extrapolate", "interpolate"}},
          {.name = "probe-smoothing-sigma",
           .target = &options.smoothing_px,
           .unit = "px",
           .help = "standard deviation of the Gaussian that smooths the probe; 0 = none",
           .range = {0, 100}},
          {.name = "probe-mask-diameter",
           .target = &options.mask_diameter_px,
           .unit = "px",
           .help = "diameter of the disc that limits the probe, with an edge of 1 px; 0 = none",
           .range = {0, 1024}}};
}

GridDataOptions unseen(GridDataOptions learn, std::int64_t images, std::int64_t outer_offset_px) {
  learn.images = images;
  learn.grid.outer_offset_px = outer_offset_px;
  ++learn.drawing_seed;
  ++learn.noise_seed;
  return learn;
}

std::vector<Field> fields(GridDataOptions& options) {
  GridScanOptions& grid = options.grid;
  return {{.name = "N",
           .target = &grid.pattern_size,
           .unit = "px",
           .help = "side of a pattern",
           .range = {16, 1024}},
          {.name = "gridsize",
           .target = &grid.gridsize,
           .help = "side of a group, which has gridsize^2 patterns",
           .range = {1, 8}},
          {.name = "object-size",
           .target = &grid.object_size,
           .unit = "px",
           .help = "side of a drawing",
           .range = {32, 1e5},
           .aliases = {"size"}},
          {.name = "offset",
           .target = &grid.offset_px,
           .unit = "px",
           .help = "distance of neighbouring patterns in a group",
           .range = {1, 1e4}},
          {.name = "outer-offset-train",
           .target = &grid.outer_offset_px,
           .unit = "px",
           .help = "twice the distance of neighbouring groups, an even number, in training",
           .range = {2, 1e4}},
          {.name = "nimgs-train",
           .target = &options.images,
           .help = "number of drawings to train on",
           .range = {1, 1000}},
          {.name = "mean-counts",
           .target = &options.nphotons,
           .unit = "photons",
           .help = "mean counts of a pattern",
           .range = {1, 1e10},
           .aliases = {"nphotons"}},
          {.name = "set-phi",
           .target = &options.set_phi,
           .help = "objects with a phase, not only an amplitude"}};
}

at::Tensor smoothed_probe(const at::Tensor& probe, double sigma_px) {
  if (sigma_px == 0) return probe;
  return by_parts(probe,
                  [sigma_px](const at::Tensor& part) { return gaussian_filter(part, sigma_px); });
}

at::Tensor grid_probe(std::int64_t size, const GridProbeOptions& options) {
  require_in_range(options);
  require(options.source == "custom" || options.file.empty(),
          "probe source {}: {} is looked at with --probe-source custom only", options.source,
          options.file.string());
  const at::Tensor probe = probe_of_size(size, options);
  if (options.mask_diameter_px == 0) return probe;
  return probe * soft_probe_mask(size, options.mask_diameter_px);
}

GridData simulate_grid_data(const GridDataOptions& options, const at::Tensor& probe) {
  const at::NoGradGuard no_grad;
  require_in_range(options);
  const Drawings drawings = draw(options);
  const at::Tensor corners = corners_of(options, drawings);
  const auto [unique, index, unused] = at::unique_dim(corners.view({-1, 2}), 0, true, true);
  const at::Tensor groups = index.view({corners.size(0), corners.size(1)});
  const GridScales scales = grid_scales(drawings.object, probe, unique, groups, options.nphotons);
  ScanFields fields;
  fields.positions = unique.to(at::kDouble) + static_cast<double>(options.grid.pattern_size / 2);
  fields.truth = (drawings.object / scales.object_norm).to(at::kComplexFloat);
  fields.probe = (probe * scales.intensity).to(at::kComplexFloat).unsqueeze(0);
  fields.counts = count(fields, options.noise_seed);
  fields.source = "drawings of lines";
  GridData data{Scan(std::move(fields)), groups, drawings.images, {}};
  for (const Window& image : data.images)
    data.tiles.push_back(tile_of(options.grid, grid_scan_corners(options.grid), image));
  return data;
}

}  // namespace ptyche
