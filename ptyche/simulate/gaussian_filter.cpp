#include "ptyche/simulate/gaussian_filter.h"

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/data/array.h"

namespace ptyche {
namespace {

/// Indices -radius..size-1+radius of an axis of `size` pixels, mirrored into it.
at::Tensor mirrored(std::int64_t size, std::int64_t radius) {
  const at::Tensor index = at::arange(-radius, size + radius, at::kLong).remainder(2 * size);
  return at::minimum(index, 2 * size - 1 - index);
}

at::Tensor filter_axis(const at::Tensor& image, const at::Tensor& weights, std::int64_t axis) {
  const std::int64_t size = image.size(axis), radius = weights.size(0) / 2;
  const at::Tensor wide = image.index_select(axis, mirrored(size, radius));
  at::Tensor sum = at::zeros_like(image);
  for (std::int64_t k = 0; k < weights.size(0); ++k)
    sum.add_(wide.narrow(axis, k, size), weights[k].item<double>());
  return sum;
}

}  // namespace

at::Tensor gaussian_filter(const at::Tensor& image, double sigma, double truncate) {
  require(image.dim() == 2 && image.scalar_type() == at::kDouble && image.numel() > 0,
          "gaussian_filter: expected a float64 image (rows, cols), found {}", describe(image));
  require(sigma > 0 && truncate > 0,
          "gaussian_filter: expected sigma and truncate > 0, found {}, {}", sigma, truncate);
  const auto radius = static_cast<std::int64_t>(truncate * sigma + 0.5);
  const at::Tensor offset = at::arange(-radius, radius + 1, at::kDouble);
  const at::Tensor gauss = at::exp(-0.5 * (offset / sigma).square());
  const at::Tensor weights = gauss / gauss.sum();
  return filter_axis(filter_axis(image, weights, 0), weights, 1);
}

}  // namespace ptyche
