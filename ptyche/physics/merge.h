// Many patches of one group on one canvas: their weighted mean, groups kept apart by their number.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// Where each patch of a batch of groups lies on its group's canvas. All canvases of a batch have
/// the size of the largest, computed from the positions: no patch can leave its canvas.
struct CanvasLayout {
  at::Tensor indices;    ///< (m, N, N) int64, flat index into (groups, rows, cols)
  at::Tensor fractions;  ///< (m, 2) float64, position less its nearest whole pixel, in [-0.5, 0.5]
  std::int64_t groups = 0, rows = 0, cols = 0;
};

/// positions     (m, 2) float64, (row, col), any frame
/// group         (m) int64 in 0..groups-1, any order, any number of patches a group (ragged)
/// pattern_size  N
/// Throws InvalidInput naming both shapes where they differ, or a group number out of range.
CanvasLayout lay_out(const at::Tensor& positions, const at::Tensor& group, std::int64_t groups,
                     std::int64_t pattern_size);

/// The same canvases with only some of the patches: `places` (k) int64 into the layout's first
/// axis.
CanvasLayout select(const CanvasLayout& layout, const at::Tensor& places);

/// Weighted mean of each group's patches on its canvas,
///   canvas(r) = sum_k w_k(r - r_k) patch_k(r - r_k) / sum_k w_k(r - r_k),
/// with the same weights above and below the fraction bar, so that patches that agree merge to
/// themselves. Pixels whose weights sum to less than `kDarkWeight` of the largest sum are 1 + 0i.
///   patches  (m, N, N) complex, on whole pixels (the rest is in CanvasLayout::fractions)
///   weights  (m, N, N) real >= 0; constants for the gradient
/// Returns (groups, rows, cols). Differentiable in the patches.
at::Tensor merge(const at::Tensor& patches, const at::Tensor& weights, const CanvasLayout& layout);

/// Merge weights sum_m |P_m|^2 (k, N, N) of probes (k, modes, N, N), detached.
at::Tensor merge_weights(const at::Tensor& probes);

/// Relative weight below which a pixel counts as not lit by any probe.
inline constexpr double kDarkWeight = 1e-6;

/// The whole-pixel patches of the canvases, (m, N, N): what each pattern sees of its group's
/// object.
at::Tensor extract(const at::Tensor& canvases, const CanvasLayout& layout);

}  // namespace ptyche
