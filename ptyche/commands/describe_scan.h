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

}  // namespace ptyche
