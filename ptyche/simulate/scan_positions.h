// Where a simulated scan looks.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>

namespace ptyche {

/// The kinds:
/// - jittered: a raster, every position moved by a random part of the step, so that the image keeps
///   no trace of the raster's period.
/// - fermat: a spiral r = step sqrt((k + 1/2) / pi) at k golden angles: even density and no axis
///   (Huang et al., Opt. Express 22 (2014) 12634).
/// - raster: rows from left to right, nearly square; the last row may be short.
struct ScanPositionsOptions {
  std::string kind = "jittered";
  std::int64_t frames = 900;  ///< >= 1
  double step_px = 4;         ///< > 0; every position has step^2 of area in all three
  double jitter = 0.3;  ///< 0..0.5 of the step, uniform in +-, both directions; `jittered` only
  std::uint64_t seed = 1;
};

/// (frames, 2) float64 (row, col) in px, between pixels, smallest row and column at 0.
/// Throws InvalidInput for options out of range.
at::Tensor scan_positions(const ScanPositionsOptions& options);

}  // namespace ptyche
