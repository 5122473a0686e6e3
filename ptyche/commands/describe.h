// A scan and its groups in numbers that a person at a beamline asks for.
#pragma once

#include <string>
#include <vector>

#include "ptyche/data/scan.h"
#include "ptyche/group/fixed_groups.h"
#include "ptyche/io/read_scan.h"

namespace ptyche {

/// One line of `ptyche info`.
struct Fact {
  std::string name, value;
};

/// Shapes, counts, positions, overlap, dose, and the memory that `reconstruct` will need.
std::vector<Fact> describe(const Scan& scan);

/// The same of what a few patterns say: positions and memory are those of all.
std::vector<Fact> describe(const ScanSample& sample);

/// How many groups of how many patterns `options` makes of the scan, how many of its patterns are
/// in one, and the three overlaps of GroupOverlap for discs of the probe's diameter.
/// Throws InvalidInput where fixed_groups does.
std::vector<Fact> describe_groups(const Scan& scan, const FixedGroupOptions& options);

}  // namespace ptyche
