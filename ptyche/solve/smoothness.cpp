#include "ptyche/solve/smoothness.h"

#include "ptyche/solve/illumination.h"

namespace ptyche {
namespace {

constexpr double kNoticeable = 0.01;

/// The part along one axis.
double add_along(std::int64_t axis, const at::Tensor& object, double weight, at::Tensor& gradient) {
  const std::int64_t last = object.size(axis) - 1;
  const at::Tensor change = object.narrow(axis, 1, last) - object.narrow(axis, 0, last);
  gradient.narrow(axis, 1, last).add_(change, 2 * weight);
  gradient.narrow(axis, 0, last).sub_(change, 2 * weight);
  return weight * power_of(change).sum(at::kDouble).item<double>();
}

}  // namespace

double add_smoothness(const at::Tensor& object, double slope, double share, at::Tensor& gradient) {
  const double weight = share / (2 * slope * slope);
  return add_along(0, object, weight, gradient) + add_along(1, object, weight, gradient);
}

bool smoothness_matters(double slope, double light) {
  return slope > 0 && 4 / (slope * slope) > kNoticeable * 2 * light;
}

}  // namespace ptyche
