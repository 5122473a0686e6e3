// Which patterns are merged on one canvas inside the loss.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace ptyche {

/// Groups are either drawn anew in every epoch (group/make_groups.h) or chosen once
/// (group/fixed_groups.h); one of the two tensors is defined.
struct Groups {
  /// Drawn: (seeds, pool) int64 frame numbers. Column 0 is the seed pattern itself, the others its
  /// nearest neighbours by distance; an epoch goes once over the patterns.
  at::Tensor neighbours;
  std::int64_t size = 1;    ///< patterns on a group's canvas, 1..64
  std::int64_t merged = 1;  ///< how many of them are merged into it, 1..size; the others are only
                            ///< predicted. All of them where groups are chosen once
  std::uint64_t seed = 1;
  /// Chosen once: (n, size) int64 frame numbers; an epoch shows every group once, in a new order.
  at::Tensor fixed = {};

  bool are_fixed() const { return fixed.defined(); }
};

/// Some groups of one epoch: frame `frames[i]` belongs to group `group[i]`.
struct GroupBatch {
  at::Tensor frames;  ///< (m) int64
  at::Tensor group;   ///< (m) int64 in 0..count-1, ascending
  at::Tensor merged;  ///< (k) int64, the places in `frames` whose patches are merged; the canvas
                      ///< predicts all m
  std::int64_t count = 0;
};

}  // namespace ptyche
