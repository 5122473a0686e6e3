#include "ptyche/physics/canvas.h"

#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/data/probe.h"
#include "ptyche/physics/formulas.h"
#include "ptyche/physics/forward_model.h"

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
  return at::zeros({groups}, group.options())
      .scatter_reduce(0, group, at::arange(group.size(0), group.options()), "amin",
                      /*include_self=*/false)
      .index_select(0, group);
}

void check_layout_input(const at::Tensor& positions, const at::Tensor& group, std::int64_t groups) {
  require(positions.dim() == 2 && positions.size(1) == 2 && group.dim() == 1 &&
              group.size(0) == positions.size(0),
          "merge: expected positions (m, 2) and group numbers (m), found {} and {}",
          fmt::join(positions.sizes(), " x "), fmt::join(group.sizes(), " x "));
  require(
      group.ge(0).all().item<bool>() && group.lt(groups).all().item<bool>(),
      "merge: expected group numbers in 0..{}, found {}..{}", groups - 1,
      [&] { return group.min().item<std::int64_t>(); },
      [&] { return group.max().item<std::int64_t>(); });
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

/// One of the canvas pixels that every pixel of the patches is a weighted sum of.
struct PatchTap {
  at::Tensor indices;  // (m, N, N) int64, flat index into (groups, rows, cols)
  at::Tensor weight;   // (m, 1, 1) float64, differentiable in the corners; undefined = 1

  /// weight x values, in the precision of the values.
  at::Tensor weigh(const at::Tensor& values) const {
    return weight.defined() ? values * weight.to(c10::toRealValueType(values.scalar_type()))
                            : values;
  }
};

/// Flat indices (m, N, N) of patches with whole corners (m, 2) int64.
at::Tensor flat_indices(const CanvasLayout& layout, const at::Tensor& corners) {
  const at::Tensor within = at::arange(layout.pattern_size, corners.options());
  const at::Tensor row = corners.select(1, 0).view({-1, 1, 1}) + within.view({1, -1, 1});
  const at::Tensor col = corners.select(1, 1).view({-1, 1, 1}) + within.view({1, 1, -1});
  return (layout.group.view({-1, 1, 1}) * layout.rows + row) * layout.cols + col;
}

/// The four neighbours of patches between pixels, weights (1 - f, f) by row times by col.
std::vector<PatchTap> neighbours(const CanvasLayout& layout) {
  const auto [whole, rest] = split_positions(layout.corners, Interpolation::bilinear);
  const at::Tensor first = whole.to(at::kLong);
  const std::int64_t last_row = layout.rows - layout.pattern_size;
  const std::int64_t last_col = layout.cols - layout.pattern_size;
  const auto weights = bilinear_weights(rest.select(1, 0), rest.select(1, 1));
  const auto tap = [&](std::int64_t down, std::int64_t right, const at::Tensor& weight) {
    // Where the limit acts, the weight is 0: a whole-pixel patch at the last row or column.
    const at::Tensor corner = at::stack({(first.select(1, 0) + down).clamp_max(last_row),
                                         (first.select(1, 1) + right).clamp_max(last_col)},
                                        1);
    return PatchTap{flat_indices(layout, corner), weight.view({-1, 1, 1})};
  };
  return {tap(0, 0, weights.here), tap(0, 1, weights.right), tap(1, 0, weights.below),
          tap(1, 1, weights.below_right)};
}

bool on_whole_pixels(const CanvasLayout& layout) {
  const at::Tensor& corners = layout.corners;
  return layout.interpolation == Interpolation::probe_fourier ||
         (!corners.requires_grad() && corners.eq(corners.round()).all().item<bool>());
}

std::vector<PatchTap> patch_taps(const CanvasLayout& layout) {
  require_on_canvas(layout);
  if (!on_whole_pixels(layout)) return neighbours(layout);
  return {{flat_indices(layout, layout.corners.to(at::kLong)), {}}};
}

at::Tensor add_at(const std::vector<PatchTap>& taps, const at::Tensor& patches,
                  const CanvasLayout& layout) {
  const std::int64_t pixels = layout.groups * layout.rows * layout.cols;
  at::Tensor flat = at::zeros({pixels}, patches.options());
  for (const PatchTap& tap : taps)
    flat = flat.index_add(0, tap.indices.view(-1), tap.weigh(patches).reshape(-1));
  return flat.view({layout.groups, layout.rows, layout.cols});
}

}  // namespace

SplitPositions split_positions(const at::Tensor& positions, Interpolation interpolation) {
  const at::Tensor given = positions.detach();
  // Half a pixel goes up and not to the even one, so that a frame moved by whole pixels agrees.
  const at::Tensor from = interpolation == Interpolation::bilinear ? given : given + 0.5;
  const at::Tensor whole = from.floor();
  return {whole, positions - whole};
}

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
    const auto [whole, rest] = split_positions(positions, interpolation);
    layout.corners = onto_canvas(whole, group, groups);
    layout.fractions = rest;
  }
  // A row and a column more than the last patch between pixels touches.
  const at::Tensor last = layout.corners.detach().floor().amax(0).to(at::kLong);
  const std::int64_t more = pattern_size + (bilinear ? 1 : 0);
  layout.rows = last[0].item<std::int64_t>() + more;
  layout.cols = last[1].item<std::int64_t>() + more;
  return layout;
}

CanvasLayout lay_on_object(const at::Tensor& corners, std::int64_t pattern_size,
                           std::array<std::int64_t, 2> shape, Interpolation interpolation) {
  const bool bilinear = interpolation == Interpolation::bilinear;
  const SplitPositions split = bilinear ? SplitPositions{corners, at::zeros_like(corners.detach())}
                                        : split_positions(corners, interpolation);
  return {.group = at::zeros({corners.size(0)}, corners.options().dtype(at::kLong)),
          .corners = split.whole,
          .fractions = split.rest,
          .interpolation = interpolation,
          .pattern_size = pattern_size,
          .groups = 1,
          .rows = shape[0],
          .cols = shape[1]};
}

CanvasLayout select_patches(const CanvasLayout& layout, const at::Tensor& chosen) {
  CanvasLayout fewer = layout;
  fewer.group = layout.group.index_select(0, chosen);
  fewer.corners = layout.corners.index_select(0, chosen);
  fewer.fractions = layout.fractions.index_select(0, chosen);
  return fewer;
}

CanvasLayout to_device(const CanvasLayout& layout, at::Device device) {
  CanvasLayout there = layout;
  for (at::Tensor* tensor : {&there.group, &there.corners, &there.fractions})
    *tensor = tensor->to(device);
  return there;
}

void require_on_canvas(const CanvasLayout& layout) {
  const at::Tensor listed = layout.corners.detach().to(at::kCPU, at::kDouble).contiguous();
  const auto* corner = listed.data_ptr<double>();
  const auto last_row = static_cast<double>(layout.rows - layout.pattern_size);
  const auto last_col = static_cast<double>(layout.cols - layout.pattern_size);
  for (std::int64_t k = 0; k < listed.size(0); ++k, corner += 2)
    require(corner[0] >= 0 && corner[0] <= last_row && corner[1] >= 0 && corner[1] <= last_col,
            "patch {} with its corner at ({:.2f}, {:.2f}) and side {} leaves its {} x {} canvas", k,
            corner[0], corner[1], layout.pattern_size, layout.rows, layout.cols);
}

at::Tensor extract_patches(const at::Tensor& canvases, const CanvasLayout& layout) {
  require(canvases.dim() == 3 && canvases.size(0) == layout.groups &&
              canvases.size(1) == layout.rows && canvases.size(2) == layout.cols,
          "extract: expected canvases {} x {} x {}, found {}", layout.groups, layout.rows,
          layout.cols, fmt::join(canvases.sizes(), " x "));
  const at::Tensor flat = canvases.reshape(-1);
  at::Tensor patches;
  for (const PatchTap& tap : patch_taps(layout)) {
    const at::Tensor part =
        tap.weigh(flat.index_select(0, tap.indices.view(-1)).view_as(tap.indices));
    patches = patches.defined() ? patches + part : part;
  }
  return patches;
}

at::Tensor extract_patches(const at::Tensor& object, const at::Tensor& corners, std::int64_t size) {
  return extract_patches(
      object.unsqueeze(0),
      lay_on_object(corners, size, {object.size(0), object.size(1)}, Interpolation::bilinear));
}

at::Tensor add_patches(const at::Tensor& patches, const CanvasLayout& layout) {
  check_patches(patches, layout);
  return add_at(patch_taps(layout), patches, layout);
}

at::Tensor mean_where_lit(const at::Tensor& sum, const at::Tensor& weight, const at::Tensor& lit) {
  const at::Tensor divisor = weight.masked_fill(lit.logical_not(), 1);
  return at::where(lit, sum / divisor, at::ones({}, sum.options()));
}

at::Tensor merge_weights(const at::Tensor& probe, const CanvasLayout& layout) {
  if (layout.interpolation == Interpolation::bilinear) return mode_power(probe.detach());
  return mode_power(fourier_shift(probe.detach(), layout.fractions.detach()));
}

at::Tensor merge_patches(const at::Tensor& patches, const at::Tensor& weights,
                         const CanvasLayout& layout, const MergeOptions& options) {
  check_patches(patches, layout);
  const bool shared = weights.dim() == 2;
  require(weights.sizes() == (shared ? patches.sizes().slice(1) : patches.sizes()),
          "merge: expected weights of the shape of the patches, {}, or of one of them, found {}",
          fmt::join(patches.sizes(), " x "), fmt::join(weights.sizes(), " x "));
  const std::vector<PatchTap> taps = patch_taps(layout);
  const at::Tensor constant = weights.detach().expand_as(patches);
  const at::Tensor sum = add_at(taps, patches * constant, layout);
  const at::Tensor total = add_at(taps, constant, layout);
  if (options.floor > 0) return sum / (total + options.floor);
  const double brightest =
      options.brightest > 0 ? options.brightest : constant.max().item().toDouble();
  return mean_where_lit(sum, total, total.gt(kLitToMerge * brightest));
}

}  // namespace ptyche
