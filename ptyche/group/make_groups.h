// Some of a scan's patterns; neighbours by position -> Groups -> batches of an epoch.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/data/reconstruction.h"
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

/// The groups of one of several scans, and how often an epoch goes over its patterns: 1 = once,
/// 0.5 = every second group that the epoch would have, > 0.
struct WeightedGroups {
  Groups groups;
  double weight = 1;
};

/// The groups of a batch that are of scan `scan`; no group has patterns of two.
struct ScanBatch {
  std::size_t scan = 0;
  GroupBatch batch;
};

/// One epoch of several scans: the groups of all, as many of each as its weight says (at least
/// one), in random order, `groups_per_batch` in a batch, joined by scan and ascending. The same
/// (seed, epoch) gives the same batches. Of one scan with weight 1 the batches of its draw_epoch.
std::vector<std::vector<ScanBatch>> draw_mixed_epoch(const std::vector<WeightedGroups>& scans,
                                                     std::int64_t groups_per_batch,
                                                     std::uint64_t seed, std::int64_t epoch);

/// How often an epoch predicts a pattern, in the mean over those that are in a group.
double visits_per_epoch(const Groups& groups);

/// Rows (n, count) int64 of the `count` nearest of `points` (n, 2) float64, by distance, found by a
/// k-d tree (nanoflann). Column 0 is the point itself, also where several points coincide.
/// 1 <= count <= n.
at::Tensor nearest_points(const at::Tensor& points, std::int64_t count);

/// Shared part of the area of two discs of one diameter D > 0 whose centres lie `distance` d >= 0
/// apart, any shape, float64: 2 / pi (acos u - u sqrt(1 - u^2)) with u = min(d / D, 1). 1 at d = 0,
/// 0.391 at D / 2, 0 from D on.
at::Tensor disc_overlap(const at::Tensor& distance, double diameter);

/// Means of `disc_overlap`; empty where there is nothing to compare.
///   in_groups      over the pairs of patterns in a group, the same weight for each group
///   of_neighbours  over each pattern's 6 nearest others; patterns in no group do not count
///   of_groups      over each group's 6 nearest others, by their mean positions
struct GroupOverlap {
  std::optional<double> in_groups, of_neighbours, of_groups;
};

/// positions  (frames, 2) float64
/// groups     (n, C) int64 frame numbers, n >= 1
/// diameter   of the lit disc, in the unit of the positions, > 0
GroupOverlap group_overlap(const at::Tensor& positions, const at::Tensor& groups, double diameter);

}  // namespace ptyche
