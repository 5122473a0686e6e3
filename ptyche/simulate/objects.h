// Objects with known truth for simulated scans.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace ptyche {

/// The kinds; the seed matters to dead-leaves, lines and random-field only:
/// - dead-leaves: overlapping random shapes, see dead_leaves.h.
/// - siemens-star: 32 spokes that shrink to nothing; where they merge is the resolution.
/// - bars: tiles of bars with periods of 2.5 to 16 px in four directions.
/// - lines: random lines blurred at three scales, PtychoPINN's drawing of the seed's lower 32 bits
///   (line_drawing.h), its smallest value as level 0 and its largest as level 1.
/// - random-field: smooth structure of all sizes.
/// - image: `file`, and for the phase `phase_file` if given; see object_image.h.
struct ObjectOptions {
  std::string kind = "dead-leaves";
  std::int64_t rows = 0, cols = 0;                  ///< both >= 1
  double amplitude_min = 0.5, amplitude_max = 1.0;  ///< 0 <= min <= max
  double phase_range_rad = 1.5;                     ///< 0..2 pi, phases lie in +-half of it
  /// one: a sample of one material, whose thickness t in 0..1 gives both, a = max (min / max)^t and
  /// phase = range (1/2 - t), as the refractive index of X-rays does; independent: two thicknesses
  std::string material = "one";
  std::uint64_t seed = 1;
  std::filesystem::path file = {}, phase_file = {};  ///< `image` only; two files are independent
};

/// (rows, cols) complex64 with amplitudes and phases inside their ranges at every pixel (edges are
/// antialiased in amplitude and phase, like a step in thickness, not in the complex value).
/// The same for any thread count. Throws InvalidInput for options out of range.
at::Tensor make_object(const ObjectOptions& options);

}  // namespace ptyche
