#include "ptyche/evaluate/gaussian_blur.h"

#include <cassert>

namespace ptyche {
namespace {

at::Tensor blur_along(const at::Tensor& image, const at::Tensor& weights, std::int64_t dim) {
  const std::int64_t size = image.size(dim) - weights.size(0) + 1;
  at::Tensor sum = at::zeros_like(image.narrow(dim, 0, size));
  for (std::int64_t k = 0; k < weights.size(0); ++k) sum += image.narrow(dim, k, size) * weights[k];
  return sum;
}

}  // namespace

at::Tensor gaussian_blur(const at::Tensor& image, double sigma_px, std::int64_t radius) {
  assert(image.size(0) > 2 * radius && image.size(1) > 2 * radius && sigma_px > 0);
  const at::Tensor distance = at::arange(-radius, radius + 1, at::kDouble) / sigma_px;
  const at::Tensor weights = (-0.5 * distance.square()).exp();
  return blur_along(blur_along(image, weights / weights.sum(), 0), weights / weights.sum(), 1);
}

}  // namespace ptyche
