#include "ptyche/ptychopinn/operators.h"

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/data/array.h"

namespace ptyche {
namespace {

/// Sources of all output pixels: rows, cols, and whether there is one; each (count, rows, cols).
struct Sources {
  at::Tensor row, col, finite;
};

Sources sources_of(const at::Tensor& homographies, std::int64_t rows, std::int64_t cols) {
  const at::Tensor matrix = homographies.to(at::kDouble).reshape({-1, 3, 3, 1, 1});
  const at::Tensor row = at::arange(rows, matrix.options()).view({1, -1, 1});
  const at::Tensor col = at::arange(cols, matrix.options()).view({1, 1, -1});
  const auto line = [&](std::int64_t i) {
    const at::Tensor terms = matrix.select(1, i);
    return terms.select(1, 0) * row + terms.select(1, 1) * col + terms.select(1, 2);
  };
  const at::Tensor depth = line(2), finite = depth.ne(0);
  const at::Tensor safe = at::where(finite, depth, at::ones_like(depth));
  return {line(0) / safe, line(1) / safe, finite};
}

/// The pixels that each output pixel reads: flat index and weight, each (count, rows * cols).
std::vector<Tap> flat_taps(const at::Tensor& stack, const at::Tensor& homographies,
                           SamplingOptions options) {
  const std::int64_t rows = stack.size(1), cols = stack.size(2);
  const Sources sources = sources_of(homographies, rows, cols);
  const auto real = c10::toRealValueType(stack.scalar_type());
  const std::vector<Tap> col_taps = taps_at(sources.col, cols, options);
  std::vector<Tap> taps;
  for (const Tap& row : taps_at(sources.row, rows, options))
    for (const Tap& col : col_taps)
      taps.push_back({(row.index * cols + col.index).flatten(1),
                      (row.weight * col.weight * sources.finite).to(real).flatten(1)});
  return taps;
}

void check_smooth(const at::Tensor& waves, double sigma) {
  require(waves.dim() >= 2 && waves.size(-1) >= 2 && waves.size(-2) >= 2 &&
              (at::isFloatingType(waves.scalar_type()) || waves.is_complex()),
          "smooth: expected floating or complex waves of at least 2 x 2 pixels, found {}",
          describe(waves));
  require(sigma >= 0 && std::isfinite(sigma), "smooth: expected sigma >= 0, found {}", sigma);
}

/// Weight of each of the two neighbours; the pixel itself has 1 - 2 of it.
double side_weight(double sigma) { return gaussian_weights(sigma, 1)[0].item<double>(); }

at::Tensor smooth_axis(const at::Tensor& waves, double side, std::int64_t axis) {
  const std::int64_t size = waves.size(axis);
  const at::Tensor mirrored =
      at::cat({waves.narrow(axis, 1, 1), waves, waves.narrow(axis, size - 2, 1)}, axis);
  return (1 - 2 * side) * waves +
         side * (mirrored.narrow(axis, 0, size) + mirrored.narrow(axis, 2, size));
}

/// What the mirrored border received goes back to the pixels that it copies.
at::Tensor smooth_axis_adjoint(const at::Tensor& waves, double side, std::int64_t axis) {
  const std::int64_t size = waves.size(axis);
  const at::Tensor none = at::zeros_like(waves.narrow(axis, 0, 1));
  const at::Tensor down = at::cat({none, waves.narrow(axis, 0, size - 1)}, axis);
  const at::Tensor up = at::cat({waves.narrow(axis, 1, size - 1), none}, axis);
  at::Tensor neighbours = down + up;
  neighbours.narrow(axis, 1, 1) += waves.narrow(axis, 0, 1);
  neighbours.narrow(axis, size - 2, 1) += waves.narrow(axis, size - 1, 1);
  return (1 - 2 * side) * waves + side * neighbours;
}

/// Distance from the point between the central pixels, (N, N) float64.
at::Tensor radius_px(std::int64_t size) {
  require(size >= 1, "probe mask: expected a size of at least 1, found {}", size);
  const at::Tensor axis = at::arange(size, at::kDouble) - static_cast<double>(size / 2) + 0.5;
  return (axis.square().unsqueeze(1) + axis.square()).sqrt();
}

}  // namespace

at::Tensor warp(const at::Tensor& images, const at::Tensor& homographies, SamplingOptions options) {
  require_one_place_per_image("warp", images, homographies, {3, 3});
  const at::Tensor stack = as_stack(images), flat = stack.flatten(1);
  at::Tensor sum;
  for (const Tap& tap : flat_taps(stack, homographies, options)) {
    const at::Tensor part = flat.gather(1, tap.index) * tap.weight;
    sum = sum.defined() ? sum + part : part;
  }
  return sum.view(images.sizes());
}

at::Tensor warp_adjoint(const at::Tensor& warped, const at::Tensor& homographies,
                        SamplingOptions options) {
  require_one_place_per_image("warp_adjoint", warped, homographies, {3, 3});
  const at::Tensor stack = as_stack(warped), flat = stack.flatten(1);
  at::Tensor sum = at::zeros_like(flat);
  for (const Tap& tap : flat_taps(stack, homographies, options))
    sum = sum.scatter_add(1, tap.index, flat * tap.weight);
  return sum.view(warped.sizes());
}

at::Tensor smooth(const at::Tensor& waves, double sigma) {
  check_smooth(waves, sigma);
  if (sigma == 0) return waves;
  const double side = side_weight(sigma);
  return smooth_axis(smooth_axis(waves, side, -2), side, -1);
}

at::Tensor smooth_adjoint(const at::Tensor& waves, double sigma) {
  check_smooth(waves, sigma);
  if (sigma == 0) return waves;
  const double side = side_weight(sigma);
  return smooth_axis_adjoint(smooth_axis_adjoint(waves, side, -1), side, -2);
}

at::Tensor hard_probe_mask(std::int64_t size) { return radius_px(size).lt(size / 4); }

at::Tensor soft_probe_mask(std::int64_t size, double diameter_px, double sigma_px) {
  require(diameter_px >= 0 && sigma_px > 0,
          "probe mask: expected a diameter >= 0 and sigma > 0, found {} and {}", diameter_px,
          sigma_px);
  const double diameter = diameter_px > 0 ? diameter_px : 0.5 * static_cast<double>(size);
  const at::Tensor disc = radius_px(size).lt(0.5 * diameter).to(at::kDouble);
  const double radius = std::ceil(3 * sigma_px);
  const at::Tensor blurred = gaussian_filter(disc, sigma_px, radius / sigma_px);
  return blurred / blurred.max().clamp_min(1e-300);
}

at::Tensor calibrate_probe_to_mean(const at::Tensor& probe, const at::Tensor& mask,
                                   double probe_scale) {
  require((probe.dim() == 2 || probe.dim() == 3) && mask.dim() == 2 &&
              probe.size(-1) == mask.size(1) && probe.size(-2) == mask.size(0),
          "calibrate_probe_to_mean: expected a mask (N, N) for a probe (modes, N, N), found {} for "
          "{}",
          describe(mask), describe(probe));
  require(probe_scale > 0, "probe_scale: expected a positive number, found {}", probe_scale);
  const auto mean = (probe.abs().to(at::kDouble) * mask).mean().item<double>();
  require(mean > 0 && std::isfinite(mean),
          "mean of the probe under its mask: expected finite and > 0, found {}", mean);
  return probe / (probe_scale * mean);
}

double amplitude_norm(const at::Tensor& amplitudes) {
  require(amplitudes.dim() >= 2 && amplitudes.size(-1) == amplitudes.size(-2),
          "amplitude_norm: expected amplitudes (..., N, N), found {}", describe(amplitudes));
  const double half = 0.5 * static_cast<double>(amplitudes.size(-1));
  const auto power = amplitudes.to(at::kDouble).square().sum({-2, -1}).mean().item<double>();
  require(power > 0, "amplitude_norm: expected a mean power above 0, found {}", power);
  return half / std::sqrt(power);
}

double intensity_scale(double nphotons, std::int64_t pattern_size) {
  require(nphotons > 0 && pattern_size >= 2,
          "intensity_scale: expected nphotons > 0 and N >= 2, found {} and {}", nphotons,
          pattern_size);
  return std::sqrt(nphotons) / (0.5 * static_cast<double>(pattern_size));
}

}  // namespace ptyche
