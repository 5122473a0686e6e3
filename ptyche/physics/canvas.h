// Many patches on one canvas: where each lies, their weighted mean, and what each sees of it.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>

#include "ptyche/data/reconstruction.h"

namespace ptyche {

/// Positions as whole pixels and what is left, both (m, 2) float64: under `bilinear` the pixel
/// before, rest in [0, 1); under `probe_fourier` the nearest, rest in [-0.5, 0.5). The one place
/// that divides a position. The rest is differentiable in the positions, the whole a constant.
struct SplitPositions {
  at::Tensor whole, rest;
};
SplitPositions split_positions(const at::Tensor& positions, Interpolation interpolation);

/// Where each patch of a batch of groups lies on its group's canvas. All canvases of a batch have
/// one size.
struct CanvasLayout {
  at::Tensor group;      ///< (m) int64, the patch's canvas
  at::Tensor corners;    ///< (m, 2) float64, (row, col) of the patch's (0, 0) on its canvas; whole
                         ///< numbers under probe_fourier
  at::Tensor fractions;  ///< (m, 2) float64, probe_fourier: the rest of the position, by which the
                         ///< probe moves; bilinear: 0
  Interpolation interpolation = Interpolation::probe_fourier;
  std::int64_t pattern_size = 0, groups = 0, rows = 0, cols = 0;
};

/// Canvases of the size that the largest group needs, computed from the positions: no patch can
/// leave its canvas.
///   positions     (m, 2) float64, (row, col), any frame; corners and fractions are differentiable
///                 in them
///   group         (m) int64 in 0..groups-1, any order, any number of patches a group (ragged)
///   pattern_size  N
/// Under `bilinear` the canvas has the pixels of its group's first pattern: a group of one, and a
/// group at whole-pixel distances, is never interpolated.
/// Throws InvalidInput naming both shapes where they differ, or a group number out of range.
CanvasLayout lay_out(const at::Tensor& positions, const at::Tensor& group, std::int64_t groups,
                     std::int64_t pattern_size, Interpolation interpolation);

/// One canvas that is there already, an object of `shape` rows and columns: corners (m, 2) float64,
/// between pixels, of the patches' (0, 0) on it. Differentiable in them.
CanvasLayout lay_on_object(const at::Tensor& corners, std::int64_t pattern_size,
                           std::array<std::int64_t, 2> shape, Interpolation interpolation);

/// The same canvases with only some of the patches: `chosen` (k) int64 into the layout's first
/// axis.
CanvasLayout select_patches(const CanvasLayout& layout, const at::Tensor& chosen);

/// The same in the memory of a device, where that of the canvases is.
CanvasLayout to_device(const CanvasLayout& layout, at::Device device);

/// Throws InvalidInput naming the first patch that leaves its canvas.
void require_on_canvas(const CanvasLayout& layout);

/// What each pattern sees of its group's object: patches (m, N, N) of canvases (groups, rows,
/// cols), bilinear between pixels. Differentiable in canvases and corners; at a whole-pixel corner
/// the derivative is the one towards larger row and col. Throws InvalidInput for canvases of other
/// sizes and for a patch that leaves its canvas.
at::Tensor extract_patches(const at::Tensor& canvases, const CanvasLayout& layout);

/// The same of one object (rows, cols) at corners (k, 2) float64: (k, size, size), bilinear.
at::Tensor extract_patches(const at::Tensor& object, const at::Tensor& corners, std::int64_t size);

/// The adjoint of extract_patches: adds patches (m, N, N) into empty canvases (groups, rows, cols).
at::Tensor add_patches(const at::Tensor& patches, const CanvasLayout& layout);

/// sum / weight where `lit`, 1 elsewhere; all of one shape, weight real, lit bool.
at::Tensor mean_where_lit(const at::Tensor& sum, const at::Tensor& weight, const at::Tensor& lit);

/// Merge weights sum_m |P_m|^2 of a probe (modes, N, N), detached, where the layout wants them:
/// (N, N) under bilinear; (m, N, N) under probe_fourier, of the probe moved to each patch (unmoved
/// ones cost a quarter of the accuracy with a probe of fine structure).
at::Tensor merge_weights(const at::Tensor& probe, const CanvasLayout& layout);

struct MergeOptions {
  /// Added to the sum of the weights. 0 (default): pixels whose weights sum to at most
  /// kLitToMerge of the brightest one are 1 + 0i. Above 0 (PtychoPINN's way, 0.001 there):
  /// no such rule, so that they tend to 0.
  double floor = 0;
  /// The weight that dark pixels are told by; 0 = the largest of all.
  double brightest = 0;
};

/// Weighted mean of each group's patches on its canvas,
///   canvas = sum_k T_k (w p_k) / (sum_k T_k w + floor),   T_k = the adjoint of extract_patches,
/// with the same weights above and below the fraction bar, so that patches that agree merge to
/// themselves (exactly at whole pixels; between them T_k blurs).
///   patches  (m, N, N) complex
///   weights  (N, N), or (m, N, N) where they differ by patch; real >= 0, constants for the
///            gradient
/// Returns (groups, rows, cols). Differentiable in patches and corners, as extract_patches is.
at::Tensor merge_patches(const at::Tensor& patches, const at::Tensor& weights,
                         const CanvasLayout& layout, const MergeOptions& options = {});

}  // namespace ptyche
