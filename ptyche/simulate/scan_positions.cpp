#include "ptyche/simulate/scan_positions.h"

#include <cmath>
#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/core/random.h"

namespace ptyche {
namespace {

/// All in steps, not pixels.
at::Tensor raster(std::int64_t frames) {
  const auto cols = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(frames))));
  const at::Tensor index = at::arange(frames, at::kLong);
  return at::stack({index.div(cols, "floor"), index.remainder(cols)}, 1).to(at::kDouble);
}

at::Tensor jittered(std::int64_t frames, double jitter, std::uint64_t seed) {
  const at::Tensor positions = raster(frames);
  auto out = positions.accessor<double, 2>();
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    RandomStream stream(seed, Purpose::positions, static_cast<std::uint64_t>(frame));
    for (int axis = 0; axis < 2; ++axis) out[frame][axis] += jitter * (2 * stream.uniform() - 1);
  }
  return positions;
}

at::Tensor fermat(std::int64_t frames) {
  const double golden_angle = std::numbers::pi * (3 - std::sqrt(5.0));
  const at::Tensor index = at::arange(frames, at::kDouble);
  // From the middle of the first step on, or the first two positions would nearly coincide.
  const at::Tensor radius = at::sqrt((index + 0.5) / std::numbers::pi);
  const at::Tensor angle = index * golden_angle;
  return at::stack({radius * at::sin(angle), radius * at::cos(angle)}, 1);
}

at::Tensor steps_of(const ScanPositionsOptions& options) {
  if (options.kind == "jittered") return jittered(options.frames, options.jitter, options.seed);
  if (options.kind == "fermat") return fermat(options.frames);
  if (options.kind == "raster") return raster(options.frames);
  throw InvalidInput(
      fmt::format("scan: expected jittered, fermat or raster, found '{}'", options.kind));
}

}  // namespace

at::Tensor scan_positions(const ScanPositionsOptions& options) {
  require(options.frames >= 1, "frames: expected at least 1, found {}", options.frames);
  require(options.step_px > 0 && std::isfinite(options.step_px),
          "step_px: expected a positive number, found {}", options.step_px);
  require(options.jitter >= 0 && options.jitter <= 0.5, "jitter: expected 0 to 0.5, found {}",
          options.jitter);
  const at::Tensor steps = steps_of(options);
  return options.step_px * (steps - std::get<0>(steps.min(0)));
}

}  // namespace ptyche
