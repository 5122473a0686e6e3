// Which patterns are merged on one canvas inside the loss.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace ptyche {

/// neighbours  (seeds, pool) int64 frame numbers: column 0 is the seed pattern itself, the others
///             its nearest neighbours by distance; drawn from per epoch (group/draw_groups.h)
/// size        patterns on a group's canvas, 1..64
/// merged      how many of them are merged into it, 1..size; the others are only predicted
struct Groups {
  at::Tensor neighbours;
  std::int64_t size = 1, merged = 1;
  std::uint64_t seed = 1;
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
