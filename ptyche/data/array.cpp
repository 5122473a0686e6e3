#include "ptyche/data/array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cassert>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

/// Indices -radius..size-1+radius of an axis of `size` pixels, brought into it.
at::Tensor indices_beyond(std::int64_t size, std::int64_t radius, Border border) {
  const at::Tensor index = at::arange(-radius, size + radius, at::kLong);
  if (border == Border::continued) return index.clamp(0, size - 1);
  const at::Tensor once = index.remainder(2 * size);
  return at::minimum(once, 2 * size - 1 - once);
}

at::Tensor mean_along(const at::Tensor& image, const at::Tensor& weights, std::int64_t axis) {
  const std::int64_t size = image.size(axis) - weights.size(0) + 1;
  at::Tensor sum = at::zeros_like(image.narrow(axis, 0, size));
  for (std::int64_t k = 0; k < weights.size(0); ++k)
    sum.add_(image.narrow(axis, k, size), weights[k].item<double>());
  return sum;
}

}  // namespace

std::string type_name(at::ScalarType type) {
  switch (type) {
    case at::kBool:
      return "bool";
    case at::kByte:
      return "uint8";
    case at::kChar:
      return "int8";
    case at::kShort:
      return "int16";
    case at::kInt:
      return "int32";
    case at::kLong:
      return "int64";
    case at::kHalf:
      return "float16";
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    case at::kComplexFloat:
      return "complex64";
    case at::kComplexDouble:
      return "complex128";
    default:
      return at::toString(type);
  }
}

std::string to_string(const Description& description) {
  const at::Tensor& tensor = description.tensor;
  if (!tensor.defined()) return "nothing";
  return fmt::format("({}) {}", fmt::join(tensor.sizes(), ", "), type_name(tensor.scalar_type()));
}

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

at::Tensor brightest_beside(const at::Tensor& images) {
  const std::int64_t rows = images.size(-2), cols = images.size(-1);
  const at::Tensor wide = at::constant_pad_nd(images, {1, 1, 1, 1});
  const at::Tensor sides = at::maximum(wide.narrow(-1, 0, cols), wide.narrow(-1, 2, cols));
  const at::Tensor three = at::maximum(sides, wide.narrow(-1, 1, cols));
  return at::maximum(sides.narrow(-2, 1, rows),
                     at::maximum(three.narrow(-2, 0, rows), three.narrow(-2, 2, rows)));
}

at::Tensor gaussian_filter(const at::Tensor& image, double sigma, double truncate, Border border) {
  const auto type = image.scalar_type();
  require(
      image.dim() == 2 && (type == at::kDouble || type == at::kComplexDouble) && image.numel() > 0,
      "gaussian_filter: expected a float64 image (rows, cols), found {}", describe(image));
  require(sigma > 0 && truncate > 0,
          "gaussian_filter: expected sigma and truncate > 0, found {}, {}", sigma, truncate);
  const auto radius = static_cast<std::int64_t>(truncate * sigma + 0.5);
  const at::Tensor wide = image.index_select(0, indices_beyond(image.size(0), radius, border))
                              .index_select(1, indices_beyond(image.size(1), radius, border));
  return separable_mean(wide, gaussian_weights(sigma, radius));
}

}  // namespace ptyche
