// Scans without end out of one description: what a network for every scan learns from.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/data/scan.h"

namespace ptyche {

/// Kinds and how often each is drawn, relative to the others.
using Kinds = std::vector<std::pair<std::string, double>>;

/// Every number of a scan is drawn from its range, evenly and on its own. Lengths are in pixels of
/// the object; those of probes and leaves are for 64 x 64 patterns and grow with N.
struct Universe {
  std::int64_t pattern_size = 64;  ///< N, even, 16..1024
  std::int64_t patterns = 25;      ///< of a scan, 4..64
  Range photons{1e2, 1e7};         ///< per pattern in the mean, evenly in the logarithm
  Range overlap{0.2, 0.9};  ///< 1 - step over the diameter of the disc with 90 % of the light
  Range jitter{0, 0.4};     ///< of the step
  Range background{0, 0};   ///< over the photons of a pattern, spread flat or in a wide hill

  Kinds probe_kinds{{"lens", 3}, {"zone-plate", 4}, {"disk", 1.5}, {"gaussian", 1.5}};
  Range probe_diameter{9, 40};   ///< of the disc with 90 % of the light; others are drawn again
  Range aperture{0.06, 0.24};    ///< of lenses, cycles/px
  Range stop{0.15, 0.55};        ///< of zone plates, over the aperture
  Range aberration{0, 0.6};      ///< root mean square of each Zernike term 5 to 11, rad
  Range curvature{-0.02, 0.02};  ///< of disks and Gaussians, phase over r^2, rad/px^2
  Range structure{0, 0.25};      ///< of the amplitude in a lens's aperture, root mean square
  Range second_mode{0, 0};       ///< its power over that of the first
  Range wrong_defocus{0, 0};     ///< relative error of the given probe's defocus, either sign
  Range wrong_probe{0, 0};       ///< smooth relative error of the given probe

  Kinds object_kinds{{"dead-leaves", 3}, {"photograph", 4}, {"random-field", 1}, {"lines", 1}};
  Range leaf{1.5, 7};         ///< radius of the smallest leaf
  Range absorption{0, 0.65};  ///< 1 - the smallest amplitude
  Range phase{0.1, 2.8};      ///< range of phases, rad, evenly in the logarithm
  double independent = 0.5;   ///< share whose amplitude and phase have nothing in common
};

/// Out of TOML; what is not said stays at its default. Throws InvalidInput naming file, line and
/// key for what is no TOML, unknown keys, ranges that are none or leave what is sensible.
Universe read_universe(const std::filesystem::path& file);
Universe parse_universe(const std::string& toml, const std::string& name);

/// The description as one line, for keys and records: equal ones draw the same scans.
std::string to_text(const Universe& universe);

struct UniverseScan {
  Scan scan;  ///< as a user would have it: the given probe calibrated by the counts, the truth in
              ///< the units that go with it
  at::Tensor expected;  ///< (n, N, N) float32, the counts without noise, FFT order
};

/// Scan number `number` of the universe: the same for any thread count and order of drawing.
UniverseScan universe_scan(const Universe& universe, std::uint64_t seed, std::uint64_t number);

}  // namespace ptyche
