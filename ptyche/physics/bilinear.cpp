#include "ptyche/physics/bilinear.h"

#include "ptyche/core/error.h"
#include "ptyche/physics/formulas.h"

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
  const at::Tensor listed = corners.to(at::kCPU, at::kDouble).contiguous();
  const auto* corner = listed.data_ptr<double>();
  const auto last_row = static_cast<double>(images.rows - size);
  const auto last_col = static_cast<double>(images.cols - size);
  for (std::int64_t k = 0; k < listed.size(0); ++k, corner += 2)
    require(corner[0] >= 0 && corner[0] <= last_row && corner[1] >= 0 && corner[1] <= last_col,
            "patch {} with its corner at ({:.2f}, {:.2f}) and side {} leaves its {} x {} canvas", k,
            corner[0], corner[1], size, images.rows, images.cols);
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
  const auto weights = bilinear_weights(fraction.select(1, 0), fraction.select(1, 1));
  const auto tap = [&](std::int64_t down, std::int64_t right, const at::Tensor& weight) {
    // Where the limit acts, the weight is 0: a whole-pixel patch at the last row or column.
    const at::Tensor corner =
        at::minimum(floor.to(at::kLong) + at::tensor({down, right}, at::kLong), limit);
    return BilinearTap{flat_indices(images, corner, size), weight.view({-1, 1, 1})};
  };
  return {tap(0, 0, weights.here), tap(0, 1, weights.right), tap(1, 0, weights.below),
          tap(1, 1, weights.below_right)};
}

}  // namespace ptyche
