// Groups that are chosen once, under the names that the original gives its options.
#include <algorithm>

#include "ptyche/commands/option_lists.h"

namespace ptyche {

FixedGroupOptions GroupingChoices::resolved_groups(std::uint64_t seed) const {
  FixedGroupOptions options = groups;
  options.gridsize = std::max<std::int64_t>(groups.gridsize, 1);
  options.own_seed = grouping == "nearest";
  options.seed = seed;
  return options;
}

SubsampleOptions GroupingChoices::resolved_subsample() const {
  SubsampleOptions options = subsample;
  options.first = groups.sequential;
  return options;
}

Groups groups_for(const Scan& scan, const TrainingChoices& training,
                  const GroupingChoices& grouping) {
  if (grouping.groups.gridsize == 0 && has_stem(training.train.network))
    return make_groups(scan, training.group);
  const std::uint64_t seed = training.train.seed;
  return groups_of(fixed_groups(scan, grouping.resolved_groups(seed)), seed);
}

std::vector<Field> grouping_option_list(GroupingChoices& choices) {
  FixedGroupOptions& groups = choices.groups;
  return {
      {.name = "gridsize",
       .target = &groups.gridsize,
       .help = "groups of gridsize^2 patterns, chosen once; 0 = drawn anew in every epoch",
       .range = {0, 8}},
      {.name = "n-groups",
       .target = &groups.count,
       .unit = "groups",
       .help = "how many groups; 0 = patterns / gridsize^2",
       .range = {0, 1e9},
       .aliases = {"n-images"}},
      {.name = "neighbor-count",
       .target = &groups.neighbours,
       .unit = "patterns",
       .help = "nearest patterns that the others of a group are drawn from",
       .range = {1, 4096}},
      {.name = "grouping",
       .target = &choices.grouping,
       .help = "nearest: a pattern and some near it; ptychopinn: some near a pattern, without it",
       .choices = {"nearest", "ptychopinn"}},
      {.name = "sequential-sampling",
       .target = &groups.sequential,
       .help = "take the first patterns of the file, not random ones"},
      {.name = "enable-oversampling",
       .target = &groups.oversampling,
       .help = "allow more groups than patterns: different choices of neighbours"},
      {.name = "neighbor-pool-size",
       .target = &groups.neighbour_pool,
       .unit = "patterns",
       .help = "nearest patterns that these draw from; 0 = as --neighbor-count",
       .range = {0, 4096}},
      {.name = "n-subsample",
       .target = &choices.subsample.count,
       .unit = "patterns",
       .help = "how many patterns are used at all; 0 = every one",
       .range = {0, 1e9}},
      {.name = "subsample-seed", .target = &choices.subsample.seed, .help = "draws these"},
  };
}

}  // namespace ptyche
