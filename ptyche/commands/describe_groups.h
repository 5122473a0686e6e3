// Groups in numbers: how many, of what, and how much they overlap.
#pragma once

#include <vector>

#include "ptyche/commands/describe_scan.h"
#include "ptyche/group/fixed_groups.h"

namespace ptyche {

/// How many groups of how many patterns `options` makes of the scan, how many of its patterns are
/// in one, and the three overlaps of GroupOverlap for discs of the probe's diameter.
/// Throws InvalidInput where fixed_groups does.
std::vector<Fact> describe_groups(const Scan& scan, const FixedGroupOptions& options);

}  // namespace ptyche
