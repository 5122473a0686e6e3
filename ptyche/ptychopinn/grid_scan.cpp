#include "ptyche/ptychopinn/grid_scan.h"

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/data/describe.h"
#include "ptyche/physics/fourier.h"
#include "ptyche/physics/patches.h"

namespace ptyche {
namespace {

/// Row-major (rows, cols) of `count` x `count` points `step` apart, (count^2, 2) int64.
at::Tensor lattice(std::int64_t count, std::int64_t step) {
  const at::Tensor index = at::arange(count * count, at::kLong);
  return step * at::stack({index.div(count, "floor"), index.remainder(count)}, 1);
}

}  // namespace

at::Tensor grid_scan_corners(const GridScanOptions& options) {
  require(options.pattern_size >= 2 && options.gridsize >= 1 && options.offset_px >= 1,
          "grid scan: expected N >= 2, gridsize >= 1 and offset >= 1, found {}, {} and {}",
          options.pattern_size, options.gridsize, options.offset_px);
  require(options.outer_offset_px >= 2 && options.outer_offset_px % 2 == 0,
          "grid scan: expected an even outer offset of at least 2, found {}",
          options.outer_offset_px);
  const std::int64_t group_size = options.pattern_size + (options.gridsize - 1) * options.offset_px;
  require(group_size <= options.object_size,
          "grid scan: expected an object of at least {} px for one group, found {}", group_size,
          options.object_size);
  const std::int64_t step = options.outer_offset_px / 2;
  const std::int64_t count = (options.object_size - group_size) / step + 1;
  return lattice(count, step).unsqueeze(1) + lattice(options.gridsize, options.offset_px);
}

GridPatterns simulate_grid(const at::Tensor& object, const at::Tensor& probe,
                           const at::Tensor& corners, double nphotons) {
  require(object.dim() == 2 && probe.dim() == 2 && corners.dim() == 3 && corners.size(2) == 2,
          "grid simulation: expected object (rows, cols), probe (N, N) and corners (groups, C, 2), "
          "found {}, {} and {}",
          describe(object), describe(probe), describe(corners));
  const at::Tensor flat = corners.reshape({-1, 2}).to(at::kDouble);
  const at::Tensor waves = extract_patches(object.to(at::kComplexDouble), flat, probe.size(0));
  const at::Tensor largest =
      waves.abs().flatten(1).amax(1).view({corners.size(0), corners.size(1)});
  GridPatterns patterns;
  patterns.object_norm = largest.amax(1).mean().item<double>();
  require(patterns.object_norm > 0, "grid simulation: expected an object with amplitude > 0");
  const at::Tensor exits = waves / patterns.object_norm * probe.to(at::kComplexDouble);
  patterns.patches = waves.abs() / patterns.object_norm;
  patterns.scale = std::sqrt(nphotons / exits.abs().square().sum({1, 2}).mean().item<double>());
  patterns.amplitudes = to_centred(propagate(exits).abs());
  return patterns;
}

}  // namespace ptyche
