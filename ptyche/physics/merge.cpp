#include "ptyche/physics/merge.h"

#include "ptyche/core/error.h"
#include "ptyche/physics/patches.h"

namespace ptyche {
namespace {

/// Smallest whole position of each group, (groups, 2) int64.
at::Tensor first_corners(const at::Tensor& whole, const at::Tensor& group, std::int64_t groups) {
  const at::Tensor index = group.unsqueeze(1).expand({-1, 2});
  return at::zeros({groups, 2}, whole.options())
      .scatter_reduce(0, index, whole, "amin", /*include_self=*/false);
}

}  // namespace

CanvasLayout lay_out(const at::Tensor& positions, const at::Tensor& group, std::int64_t groups,
                     std::int64_t pattern_size) {
  require(positions.dim() == 2 && positions.size(1) == 2 && group.dim() == 1 &&
              group.size(0) == positions.size(0),
          "merge: expected positions (m, 2) and group numbers (m), found {} and {}",
          fmt::join(positions.sizes(), " x "), fmt::join(group.sizes(), " x "));
  require(group.ge(0).all().item<bool>() && group.lt(groups).all().item<bool>(),
          "merge: expected group numbers in 0..{}, found {}..{}", groups - 1,
          group.min().item<std::int64_t>(), group.max().item<std::int64_t>());
  const at::Tensor nearest = positions.round();
  const at::Tensor whole = nearest.to(at::kLong);
  const at::Tensor corners = whole - first_corners(whole, group, groups).index_select(0, group);
  const at::Tensor extent = corners.amax(0) + pattern_size;
  CanvasLayout layout{.indices = {},
                      .fractions = positions - nearest,
                      .groups = groups,
                      .rows = extent[0].item<std::int64_t>(),
                      .cols = extent[1].item<std::int64_t>()};
  layout.indices = patch_indices(group, corners, pattern_size, layout.rows, layout.cols);
  return layout;
}

CanvasLayout select(const CanvasLayout& layout, const at::Tensor& places) {
  CanvasLayout chosen = layout;
  chosen.indices = layout.indices.index_select(0, places);
  chosen.fractions = layout.fractions.index_select(0, places);
  return chosen;
}

at::Tensor merge(const at::Tensor& patches, const at::Tensor& weights, const CanvasLayout& layout) {
  require(patches.sizes() == layout.indices.sizes() && weights.sizes() == layout.indices.sizes(),
          "merge: expected patches and weights of shape {}, found {} and {}",
          fmt::join(layout.indices.sizes(), " x "), fmt::join(patches.sizes(), " x "),
          fmt::join(weights.sizes(), " x "));
  const at::Tensor index = layout.indices.view(-1), constant = weights.detach();
  const std::int64_t pixels = layout.groups * layout.rows * layout.cols;
  const at::Tensor total =
      at::zeros({pixels}, constant.options()).index_add(0, index, constant.reshape(-1));
  const at::Tensor sum =
      at::zeros({pixels}, patches.options()).index_add(0, index, (patches * constant).reshape(-1));
  const at::Tensor dark = total.le(kDarkWeight * total.max());
  const at::Tensor mean = sum / total.masked_fill(dark, 1);
  return at::where(dark, at::ones({}, mean.options()), mean)
      .view({layout.groups, layout.rows, layout.cols});
}

at::Tensor merge_weights(const at::Tensor& probes) {
  return at::view_as_real(probes.detach()).square().sum(at::IntArrayRef{1, 4});
}

at::Tensor extract(const at::Tensor& canvases, const CanvasLayout& layout) {
  return canvases.reshape(-1).index_select(0, layout.indices.view(-1)).view_as(layout.indices);
}

}  // namespace ptyche
