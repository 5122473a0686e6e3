// Some of a scan's patterns; neighbours by position -> Groups -> batches of an epoch.
#pragma once

#include <cstdint>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/data/groups.h"
#include "ptyche/data/scan.h"

namespace ptyche {

struct SubsampleOptions {
  std::int64_t count = 0;  ///< patterns that stay in use; 0 = all
  bool first = false;      ///< the first of the file, not random ones
  std::uint64_t seed = 1;
};
std::vector<Field> fields(SubsampleOptions& options);

/// The scan with `count` of its used patterns in use. The others become `rejected`, which
/// PtychoPINN's subsampling amounts to: they enter nothing. (`unseen` ones would be inferred
/// afterwards, `held_out` ones scored.) Patterns keep their numbers and their order. Asked for more
/// than there are, it keeps all and says so. Throws InvalidInput if count < 0.
Scan subsample(const Scan& scan, const SubsampleOptions& options);

struct GroupOptions {
  std::int64_t size = 32;   ///< C, patterns on a group's canvas, 1..64
  std::int64_t merged = 0;  ///< how many of them, drawn anew each time, are merged; 0 = half
  std::uint64_t seed = 1;
};
std::vector<Field> fields(GroupOptions& options);

/// The nearest used patterns of every used pattern, by a k-d tree (nanoflann).
/// Throws InvalidInput if the scan has fewer used patterns than a group, saying how many it has.
Groups make_groups(const Scan& scan, const GroupOptions& options);

/// One epoch: batches of `groups_per_batch` groups, fewer in the last one. The same (seed, epoch)
/// gives the same batches.
/// Drawn groups: around random seed patterns, so many that about as many patches are merged as the
/// scan has patterns. Of each group a random choice is merged, and the merged object must predict
/// them all: a pattern that was left out is an honest test of its neighbours' patches, which keeps
/// the network from fitting the noise of each pattern (the idea of Noise2Self, Batson & Royer, ICML
/// 2019). Fixed groups: every group once, in random order, all of its patterns merged.
std::vector<GroupBatch> draw_epoch(const Groups& groups, std::int64_t groups_per_batch,
                                   std::int64_t epoch);

/// How often an epoch predicts a pattern, in the mean over those that are in a group.
double visits_per_epoch(const Groups& groups);

}  // namespace ptyche
