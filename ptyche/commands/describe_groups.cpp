#include "ptyche/commands/describe_groups.h"

#include <fmt/format.h>

#include <string>

#include "ptyche/data/overlap.h"
#include "ptyche/group/group_overlap.h"
#include "ptyche/group/make_groups.h"

namespace ptyche {
namespace {

std::string percent(const std::optional<double>& share, const char* over) {
  return share ? fmt::format("{:.1f} % ({})", 100 * *share, over) : "none to compare";
}

}  // namespace

std::vector<Fact> describe_groups(const Scan& scan, const FixedGroupOptions& options) {
  const at::Tensor groups = fixed_groups(scan, options);
  const double diameter = probe_diameter_px(scan.probe());
  const GroupOverlap overlap = group_overlap(scan.positions(), groups, diameter);
  const double visits = visits_per_epoch(groups_of(groups, options.seed));
  return {
      {"groups", fmt::format("({}, {}) patterns of ({}, {}) px", groups.size(0), groups.size(1),
                             scan.pattern_size(), scan.pattern_size())},
      {"patterns in groups", fmt::format("{:.0f} of {}, each in {:.2f} groups in the mean",
                                         static_cast<double>(groups.numel()) / visits,
                                         scan.frames_with(FrameUse::used).size(0), visits)},
      {"overlap in groups", percent(overlap.in_groups, "pairs; area of discs of that diameter")},
      {"overlap of neighbours",
       percent(overlap.of_neighbours, "of each pattern with the 6 nearest")},
      {"overlap of groups", percent(overlap.of_groups, "centres, of each with the 6 nearest")},
  };
}

}  // namespace ptyche
