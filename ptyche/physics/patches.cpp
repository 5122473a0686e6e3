#include "ptyche/physics/patches.h"

#include "ptyche/physics/merge.h"

namespace ptyche {
namespace {

bool are_whole(const at::Tensor& corners) {
  return !corners.requires_grad() && corners.eq(corners.round()).all().item<bool>();
}

/// One canvas, the object itself.
CanvasLayout layout_of(const at::Tensor& corners, std::int64_t size, std::int64_t rows,
                       std::int64_t cols) {
  return {
      .group = at::zeros({corners.size(0)}, at::kLong),
      .corners = corners,
      .fractions = {},
      .interpolation = are_whole(corners) ? Interpolation::probe_fourier : Interpolation::bilinear,
      .pattern_size = size,
      .groups = 1,
      .rows = rows,
      .cols = cols};
}

}  // namespace

at::Tensor extract_patches(const at::Tensor& object, const at::Tensor& corners, std::int64_t size) {
  return extract(object.unsqueeze(0), layout_of(corners, size, object.size(0), object.size(1)));
}

at::Tensor place_patches(const at::Tensor& patches, const at::Tensor& corners, std::int64_t rows,
                         std::int64_t cols) {
  return spread(patches, layout_of(corners, patches.size(-1), rows, cols))[0];
}

}  // namespace ptyche
