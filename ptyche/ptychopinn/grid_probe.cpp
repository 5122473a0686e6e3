#include "ptyche/ptychopinn/grid_probe.h"

#include <array>

#include "ptyche/core/error.h"
#include "ptyche/data/describe.h"
#include "ptyche/io/npz.h"
#include "ptyche/simulate/default_probe.h"
#include "ptyche/simulate/gaussian_filter.h"

namespace ptyche {
namespace {

/// `work` on real and imaginary part, (rows, cols) float64 each.
template <class Work>
at::Tensor by_parts(const at::Tensor& image, const Work& work) {
  return at::complex(work(at::real(image).contiguous()), work(at::imag(image).contiguous()));
}

at::Tensor smoothed(const at::Tensor& probe, double sigma_px) {
  require(sigma_px >= 0, "probe smoothing: expected 0 px or more, found {}", sigma_px);
  if (sigma_px == 0) return probe;
  return by_parts(probe,
                  [sigma_px](const at::Tensor& part) { return gaussian_filter(part, sigma_px); });
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

}  // namespace

at::Tensor grid_probe(std::int64_t size, const GridProbeOptions& options) {
  require(options.source == "custom" || options.file.empty(),
          "probe source {}: {} is looked at with --probe-source custom only", options.source,
          options.file.string());
  if (options.source == "ideal_disk")
    return smoothed(default_probe(size).to(at::kComplexDouble), options.smoothing_px);
  const at::Tensor probe = smoothed(read_probe(options.file), options.smoothing_px);
  if (options.scale_mode == "interpolate") return stretched(probe, size);
  return options.scale_mode == "pad_extrapolate" ? extrapolated(probe, size) : padded(probe, size);
}

}  // namespace ptyche
