// Objects with known truth for simulated scans.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>

namespace ptyche {

/// The kinds; the seed matters to dead-leaves and random-field only:
/// - dead-leaves: overlapping random shapes, see dead_leaves.h.
/// - siemens-star: 32 spokes that shrink to nothing; where they merge is the resolution.
/// - lines: tiles of bars with periods of 2.5 to 16 px in four directions.
/// - random-field: smooth structure of all sizes.
struct ObjectOptions {
  std::string kind = "dead-leaves";
  std::int64_t rows = 0, cols = 0;                  ///< both >= 1
  double amplitude_min = 0.5, amplitude_max = 1.0;  ///< 0 <= min <= max
  double phase_range_rad = 1.5;                     ///< 0..2 pi, phases lie in +-half of it
  /// one: a sample of one material, whose thickness t in 0..1 gives both, a = max (min / max)^t and
  /// phase = range (1/2 - t), as the refractive index of X-rays does; independent: two thicknesses
  std::string material = "one";
  std::uint64_t seed = 1;
};

/// (rows, cols) complex64 with amplitudes and phases inside their ranges at every pixel (edges are
/// antialiased in amplitude and phase, like a step in thickness, not in the complex value).
/// The same for any thread count. Throws InvalidInput for options out of range.
at::Tensor make_object(const ObjectOptions& options);

}  // namespace ptyche
