// PtychoPINN's regular-grid scan of a synthetic object, and the patterns that it simulates there.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace ptyche {

struct GridScanOptions {
  std::int64_t object_size = 392;    ///< side of the square object, px
  std::int64_t pattern_size = 64;    ///< N
  std::int64_t gridsize = 1;         ///< C = gridsize^2 patterns form a group
  std::int64_t offset_px = 4;        ///< distance of neighbours inside a group
  std::int64_t outer_offset_px = 8;  ///< twice the distance of neighbouring groups; even, >= 2
};

/// Corners (groups, C, 2) int64 (row, col) of all patches, groups and the patterns inside one
/// row-major: group g of n x n, n = floor((object - N - (gridsize - 1) offset) / (outer / 2)) + 1.
/// A pattern's position is its corner + N/2; PtychoPINN's own coordinates are corner + (N - 1)/2.
/// Throws InvalidInput when no group fits or an option is out of range.
at::Tensor grid_scan_corners(const GridScanOptions& options);

/// What the original calls clean data: no noise yet.
struct GridPatterns {
  at::Tensor patches;  ///< (groups * C, N, N) float64: amplitude over `object_norm`
  at::Tensor
      amplitudes;  ///< (groups * C, N, N) float64, zero frequency at (N/2, N/2), over `scale`
  double object_norm = 0;  ///< mean over groups of the largest amplitude in the group
  double scale = 0;  ///< counts = (scale * amplitudes)^2 have `nphotons` per pattern in the mean
};

/// Simulates the patches of `object` under one probe: patches Y / object_norm, scale =
/// sqrt(nphotons / mean sum |Y P|^2), amplitudes = |FFT2(P Y exp(i phi))| / N.
///   object    (size, size) complex; its amplitude is normalised, its phase kept
///   probe     (N, N) complex
///   corners   (groups, C, 2) int64, of grid_scan_corners
/// Throws InvalidInput naming the patch that leaves the object.
GridPatterns simulate_grid(const at::Tensor& object, const at::Tensor& probe,
                           const at::Tensor& corners, double nphotons);

}  // namespace ptyche
