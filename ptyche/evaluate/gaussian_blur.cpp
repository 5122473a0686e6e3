#include "ptyche/evaluate/gaussian_blur.h"

#include <cassert>

#include "ptyche/data/array.h"

namespace ptyche {
namespace {

at::Tensor mean_along(const at::Tensor& image, const at::Tensor& weights, std::int64_t dim) {
  const std::int64_t size = image.size(dim) - weights.size(0) + 1;
  at::Tensor sum = at::zeros_like(image.narrow(dim, 0, size));
  for (std::int64_t k = 0; k < weights.size(0); ++k) sum += image.narrow(dim, k, size) * weights[k];
  return sum;
}

}  // namespace

at::Tensor gaussian_weights(double sigma_px, std::int64_t radius) {
  assert(sigma_px > 0);
  const at::Tensor distance = at::arange(-radius, radius + 1, at::kDouble) / sigma_px;
  const at::Tensor weights = (-0.5 * distance.square()).exp();
  return weights / weights.sum();
}

at::Tensor separable_mean(const at::Tensor& image, const at::Tensor& weights) {
  assert(image.size(0) >= weights.size(0) && image.size(1) >= weights.size(0));
  return mean_along(mean_along(image, weights, 0), weights, 1);
}

at::Tensor gaussian_blur(const at::Tensor& image, double sigma_px, std::int64_t radius) {
  return separable_mean(image, gaussian_weights(sigma_px, radius));
}

}  // namespace ptyche
