// Which patterns are merged on one canvas inside the loss.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace ptyche {

/// Groups are either drawn anew in every epoch or chosen once; one of the two tensors is defined.
///
/// Drawn (group/make_groups.h):
///   neighbours  (seeds, pool) int64 frame numbers: column 0 is the seed pattern itself, the others
///               its nearest neighbours by distance; an epoch goes once over the patterns
///   size        patterns on a group's canvas, 1..64
///   merged      how many of them are merged into it, 1..size; the others are only predicted
/// Chosen once (group/fixed_groups.h):
///   fixed       (n, C) int64 frame numbers; an epoch shows every group once, in a new order
///   size        C
///   merged      C: all patterns of a group are merged
struct Groups {
  at::Tensor neighbours;
  std::int64_t size = 1, merged = 1;
  std::uint64_t seed = 1;
  at::Tensor fixed = {};

  bool are_fixed() const { return fixed.defined(); }
};

/// Some groups of one epoch: frame `frames[i]` belongs to group `group[i]`.
///   frames  (m) int64
///   group   (m) int64 in 0..count-1, ascending
///   merged  (k) int64, the places in `frames` whose patches are merged; the canvas predicts all m
struct GroupBatch {
  at::Tensor frames, group, merged;
  std::int64_t count = 0;
};

}  // namespace ptyche
