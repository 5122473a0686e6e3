#include "ptyche/physics/patches.h"

#include <array>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

void require_inside(const at::Tensor& corners, std::int64_t size, std::int64_t rows,
                    std::int64_t cols) {
  const at::Tensor limit = at::tensor({rows - size, cols - size}, corners.options());
  const at::Tensor outside = corners.lt(0).logical_or(corners.gt(limit)).any(1);
  if (!outside.any().item<bool>()) return;
  const auto first = outside.nonzero()[0].item<std::int64_t>();
  throw InvalidInput(fmt::format(
      "patch {} with its corner at ({:.2f}, {:.2f}) and side {} leaves its {} x {} canvas", first,
      corners[first][0].item<double>(), corners[first][1].item<double>(), size, rows, cols));
}

/// The up to four whole-pixel neighbours of a fractional corner: flat indices and bilinear weights.
struct Neighbour {
  at::Tensor indices;  // (k, size, size)
  at::Tensor weight;   // (k, 1, 1)
};

std::vector<Neighbour> neighbours(const at::Tensor& corners, std::int64_t size, std::int64_t rows,
                                  std::int64_t cols) {
  require_inside(corners, size, rows, cols);
  const at::Tensor whole = corners.floor(), rest = corners - whole;
  const at::Tensor image = at::zeros({corners.size(0)}, at::kLong);
  const at::Tensor last = at::tensor({rows - size, cols - size}, at::kLong);
  std::vector<Neighbour> found;
  for (const std::array<std::int64_t, 2> step :
       {std::array<std::int64_t, 2>{0, 0}, {0, 1}, {1, 0}, {1, 1}}) {
    const at::Tensor up = at::tensor({step[0], step[1]}, at::kLong);
    const at::Tensor weight = at::where(up.eq(1), rest, 1 - rest).prod(1);
    if (!weight.any().item<bool>()) continue;
    // Where the clamp acts, the weight is 0: a whole-pixel patch at the object's last row or
    // column.
    const at::Tensor corner = at::minimum(whole.to(at::kLong) + up, last);
    found.push_back({patch_indices(image, corner, size, rows, cols), weight.view({-1, 1, 1})});
  }
  return found;
}

}  // namespace

at::Tensor patch_indices(const at::Tensor& image, const at::Tensor& corners, std::int64_t size,
                         std::int64_t rows, std::int64_t cols) {
  require_inside(corners, size, rows, cols);
  const at::Tensor within = at::arange(size, corners.options());
  const at::Tensor row = corners.select(1, 0).view({-1, 1, 1}) + within.view({1, -1, 1});
  const at::Tensor col = corners.select(1, 1).view({-1, 1, 1}) + within.view({1, 1, -1});
  return (image.view({-1, 1, 1}) * rows + row) * cols + col;
}

at::Tensor extract_patches(const at::Tensor& object, const at::Tensor& corners, std::int64_t size) {
  const auto real = c10::toRealValueType(object.scalar_type());
  const at::Tensor flat = object.reshape(-1);
  at::Tensor patches;
  for (const Neighbour& at : neighbours(corners, size, object.size(0), object.size(1))) {
    const at::Tensor part =
        flat.index_select(0, at.indices.view(-1)).view_as(at.indices) * at.weight.to(real);
    patches = patches.defined() ? patches + part : part;
  }
  return patches;
}

at::Tensor place_patches(const at::Tensor& patches, const at::Tensor& corners, std::int64_t rows,
                         std::int64_t cols) {
  const auto real = c10::toRealValueType(patches.scalar_type());
  at::Tensor flat = at::zeros({rows * cols}, patches.options());
  for (const Neighbour& at : neighbours(corners, patches.size(-1), rows, cols))
    flat = flat.index_add(0, at.indices.view(-1), (patches * at.weight.to(real)).reshape(-1));
  return flat.view({rows, cols});
}

}  // namespace ptyche
