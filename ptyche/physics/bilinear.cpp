#include "ptyche/physics/bilinear.h"

#include <array>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

/// Flat indices (m, size, size) of patches with whole corners (m, 2) int64.
at::Tensor flat_indices(const Images& images, const at::Tensor& corners, std::int64_t size) {
  const at::Tensor within = at::arange(size, corners.options());
  const at::Tensor row = corners.select(1, 0).view({-1, 1, 1}) + within.view({1, -1, 1});
  const at::Tensor col = corners.select(1, 1).view({-1, 1, 1}) + within.view({1, 1, -1});
  return (images.image.view({-1, 1, 1}) * images.rows + row) * images.cols + col;
}

}  // namespace

void require_inside(const Images& images, const at::Tensor& corners, std::int64_t size) {
  const at::Tensor limit = at::tensor({images.rows - size, images.cols - size}, corners.options());
  const at::Tensor outside = corners.lt(0).logical_or(corners.gt(limit)).any(1);
  if (!outside.any().item<bool>()) return;
  const auto first = outside.nonzero()[0].item<std::int64_t>();
  throw InvalidInput(
      fmt::format("patch {} with its corner at ({:.2f}, {:.2f}) and side {} leaves its {} x {} "
                  "canvas",
                  first, corners[first][0].item<double>(), corners[first][1].item<double>(), size,
                  images.rows, images.cols));
}

at::Tensor BilinearTap::weigh(const at::Tensor& values) const {
  return weight.defined() ? values * weight.to(c10::toRealValueType(values.scalar_type())) : values;
}

std::vector<BilinearTap> whole_taps(const Images& images, const at::Tensor& corners,
                                    std::int64_t size) {
  require_inside(images, corners, size);
  return {{flat_indices(images, corners.to(at::kLong), size), {}}};
}

std::vector<BilinearTap> bilinear_taps(const Images& images, const at::Tensor& corners,
                                       std::int64_t size) {
  const at::Tensor floor = corners.detach().floor(), fraction = corners - floor;
  require_inside(images, corners.detach(), size);
  const at::Tensor limit = at::tensor({images.rows - size, images.cols - size}, at::kLong);
  std::vector<BilinearTap> taps;
  for (const std::array<std::int64_t, 2> step :
       {std::array<std::int64_t, 2>{0, 0}, {0, 1}, {1, 0}, {1, 1}}) {
    const at::Tensor up = at::tensor({step[0], step[1]}, at::kLong);
    const at::Tensor weight = at::where(up.eq(1), fraction, 1 - fraction).prod(1).view({-1, 1, 1});
    // Where the limit acts, the weight is 0: a whole-pixel patch at the last row or column.
    const at::Tensor corner = at::minimum(floor.to(at::kLong) + up, limit);
    taps.push_back({flat_indices(images, corner, size), weight});
  }
  return taps;
}

}  // namespace ptyche
