#include "ptyche/physics/merge.h"

#include <ATen/Dispatch.h>

#include "ptyche/core/error.h"
#include "ptyche/physics/bilinear.h"
#include "ptyche/physics/fourier_shift.h"

namespace ptyche {
namespace {

/// The least of `values` (m, 2) in each group, for every patch: (m, 2).
at::Tensor least_of_group(const at::Tensor& values, const at::Tensor& group, std::int64_t groups) {
  return at::zeros({groups, 2}, values.options())
      .scatter_reduce(0, group.unsqueeze(1).expand({-1, 2}), values, "amin", /*include_self=*/false)
      .index_select(0, group);
}

/// The number of the first patch of every patch's group: (m) int64.
at::Tensor first_of_group(const at::Tensor& group, std::int64_t groups) {
  return at::zeros({groups}, at::kLong)
      .scatter_reduce(0, group, at::arange(group.size(0)), "amin", /*include_self=*/false)
      .index_select(0, group);
}

void check_layout_input(const at::Tensor& positions, const at::Tensor& group, std::int64_t groups) {
  require(positions.dim() == 2 && positions.size(1) == 2 && group.dim() == 1 &&
              group.size(0) == positions.size(0),
          "merge: expected positions (m, 2) and group numbers (m), found {} and {}",
          fmt::join(positions.sizes(), " x "), fmt::join(group.sizes(), " x "));
  require(group.ge(0).all().item<bool>() && group.lt(groups).all().item<bool>(),
          "merge: expected group numbers in 0..{}, found {}..{}", groups - 1,
          group.min().item<std::int64_t>(), group.max().item<std::int64_t>());
}

/// Every group's corners moved by whole pixels so that the first is at 0.
at::Tensor onto_canvas(const at::Tensor& corners, const at::Tensor& group, std::int64_t groups) {
  return corners - least_of_group(corners.detach(), group, groups).floor();
}

void check_patches(const at::Tensor& patches, const CanvasLayout& layout) {
  require(patches.dim() == 3 && patches.size(0) == layout.corners.size(0) &&
              patches.size(1) == layout.pattern_size && patches.size(2) == layout.pattern_size,
          "merge: expected {} patches {} x {}, found {}", layout.corners.size(0),
          layout.pattern_size, layout.pattern_size, fmt::join(patches.sizes(), " x "));
}

Images canvases_of(const CanvasLayout& layout) {
  return {layout.group, layout.groups, layout.rows, layout.cols};
}

std::vector<BilinearTap> taps(const CanvasLayout& layout) {
  const Images canvases = canvases_of(layout);
  return layout.interpolation == Interpolation::bilinear
             ? bilinear_taps(canvases, layout.corners, layout.pattern_size)
             : whole_taps(canvases, layout.corners, layout.pattern_size);
}

at::Tensor spread(const at::Tensor& patches, const CanvasLayout& layout,
                  const std::vector<BilinearTap>& at_taps) {
  const std::int64_t pixels = layout.groups * layout.rows * layout.cols;
  at::Tensor flat = at::zeros({pixels}, patches.options());
  for (const BilinearTap& tap : at_taps)
    flat = flat.index_add(0, tap.indices.view(-1), tap.weigh(patches).reshape(-1));
  return flat.view({layout.groups, layout.rows, layout.cols});
}

}  // namespace

CanvasLayout lay_out(const at::Tensor& positions, const at::Tensor& group, std::int64_t groups,
                     std::int64_t pattern_size, Interpolation interpolation) {
  check_layout_input(positions, group, groups);
  CanvasLayout layout{.group = group,
                      .corners = {},
                      .fractions = {},
                      .interpolation = interpolation,
                      .pattern_size = pattern_size,
                      .groups = groups,
                      .rows = 0,
                      .cols = 0};
  const bool bilinear = interpolation == Interpolation::bilinear;
  if (bilinear) {
    const at::Tensor offsets = positions - positions.index_select(0, first_of_group(group, groups));
    layout.corners = onto_canvas(offsets, group, groups);
    layout.fractions = at::zeros_like(layout.corners);
  } else {
    const at::Tensor nearest = positions.detach().round();
    layout.corners = onto_canvas(nearest, group, groups);
    layout.fractions = positions - nearest;
  }
  // A row and a column more than the last patch between pixels touches.
  const at::Tensor last = layout.corners.detach().floor().amax(0).to(at::kLong);
  const std::int64_t more = pattern_size + (bilinear ? 1 : 0);
  layout.rows = last[0].item<std::int64_t>() + more;
  layout.cols = last[1].item<std::int64_t>() + more;
  return layout;
}

CanvasLayout select(const CanvasLayout& layout, const at::Tensor& places) {
  CanvasLayout chosen = layout;
  chosen.group = layout.group.index_select(0, places);
  chosen.corners = layout.corners.index_select(0, places);
  chosen.fractions = layout.fractions.index_select(0, places);
  return chosen;
}

void require_on_canvas(const CanvasLayout& layout) {
  require_inside(canvases_of(layout), layout.corners.detach(), layout.pattern_size);
}

at::Tensor merge(const at::Tensor& patches, const at::Tensor& weights, const CanvasLayout& layout,
                 const MergeOptions& options) {
  check_patches(patches, layout);
  const bool shared = weights.dim() == 2;
  require(weights.sizes() == (shared ? patches.sizes().slice(1) : patches.sizes()),
          "merge: expected weights of the shape of the patches, {}, or of one of them, found {}",
          fmt::join(patches.sizes(), " x "), fmt::join(weights.sizes(), " x "));
  const std::vector<BilinearTap> at_taps = taps(layout);
  const at::Tensor constant = weights.detach().expand_as(patches);
  const at::Tensor sum = spread(patches * constant, layout, at_taps);
  const at::Tensor total = spread(constant, layout, at_taps);
  if (options.floor > 0) return sum / (total + options.floor);
  const double brightest =
      options.brightest > 0 ? options.brightest : constant.max().item().toDouble();
  const at::Tensor dark = total.le(kDarkWeight * brightest);
  return at::where(dark, at::ones({}, sum.options()), sum / total.masked_fill(dark, 1));
}

at::Tensor merge_weights(const at::Tensor& probe) {
  const at::Tensor own = at::view_as_real(probe.detach()).contiguous();
  at::Tensor weights = at::zeros(own.sizes().slice(1, 2), own.options());
  // Plain loops: this stands before every call of the fused engine, and at::sum takes ten times
  // as long.
  AT_DISPATCH_FLOATING_TYPES(own.scalar_type(), "merge_weights", [&] {
    const scalar_t* from = own.const_data_ptr<scalar_t>();
    scalar_t* to = weights.data_ptr<scalar_t>();
    for (std::int64_t mode = 0; mode < own.size(0); ++mode)
      for (std::int64_t i = 0; i < weights.numel(); ++i, from += 2)
        to[i] += from[0] * from[0] + from[1] * from[1];
  });
  return weights;
}

at::Tensor merge_weights(const at::Tensor& probe, const CanvasLayout& layout) {
  if (layout.interpolation == Interpolation::bilinear) return merge_weights(probe);
  const at::Tensor moved = fourier_shift(probe.detach(), layout.fractions.detach());
  return at::view_as_real(moved).square().sum(at::IntArrayRef{1, 4});
}

at::Tensor extract(const at::Tensor& canvases, const CanvasLayout& layout) {
  require(canvases.dim() == 3 && canvases.size(0) == layout.groups &&
              canvases.size(1) == layout.rows && canvases.size(2) == layout.cols,
          "extract: expected canvases {} x {} x {}, found {}", layout.groups, layout.rows,
          layout.cols, fmt::join(canvases.sizes(), " x "));
  const at::Tensor flat = canvases.reshape(-1);
  at::Tensor patches;
  for (const BilinearTap& tap : taps(layout)) {
    const at::Tensor part =
        tap.weigh(flat.index_select(0, tap.indices.view(-1)).view_as(tap.indices));
    patches = patches.defined() ? patches + part : part;
  }
  return patches;
}

at::Tensor spread(const at::Tensor& patches, const CanvasLayout& layout) {
  check_patches(patches, layout);
  return spread(patches, layout, taps(layout));
}

}  // namespace ptyche
