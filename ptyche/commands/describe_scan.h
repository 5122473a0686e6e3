// A scan in numbers that a person at a beamline asks for.
#pragma once

#include <string>
#include <vector>

#include "ptyche/data/scan.h"

namespace ptyche {

/// One line of `ptyche info`.
struct Fact {
  std::string name, value;
};

/// Shapes, counts, positions, overlap, dose, and the memory that `reconstruct` will need.
std::vector<Fact> describe(const Scan& scan);

/// Diameter in pixels of the disc around the probe's centre of mass that holds 90 % of its power.
double probe_diameter_px(const at::Tensor& probe);

/// Median distance in pixels from a position to its nearest neighbour.
double median_step_px(const at::Tensor& positions);

}  // namespace ptyche
