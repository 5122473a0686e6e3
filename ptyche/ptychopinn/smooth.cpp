#include "ptyche/ptychopinn/smooth.h"

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/data/describe.h"

namespace ptyche {
namespace {

void check(const at::Tensor& waves, double sigma) {
  require(waves.dim() >= 2 && waves.size(-1) >= 2 && waves.size(-2) >= 2 &&
              (at::isFloatingType(waves.scalar_type()) || waves.is_complex()),
          "smooth: expected floating or complex waves of at least 2 x 2 pixels, found {}",
          describe(waves));
  require(sigma >= 0 && std::isfinite(sigma), "smooth: expected sigma >= 0, found {}", sigma);
}

/// Weight of each of the two neighbours; the pixel itself has 1 - 2 of it.
double side_weight(double sigma) {
  const double side = std::exp(-0.5 / (sigma * sigma));
  return side / (1 + 2 * side);
}

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

}  // namespace

at::Tensor smooth(const at::Tensor& waves, double sigma) {
  check(waves, sigma);
  if (sigma == 0) return waves;
  const double side = side_weight(sigma);
  return smooth_axis(smooth_axis(waves, side, -2), side, -1);
}

at::Tensor smooth_adjoint(const at::Tensor& waves, double sigma) {
  check(waves, sigma);
  if (sigma == 0) return waves;
  const double side = side_weight(sigma);
  return smooth_axis_adjoint(smooth_axis_adjoint(waves, side, -1), side, -2);
}

}  // namespace ptyche
