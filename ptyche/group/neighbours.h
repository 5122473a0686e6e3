// Who is next to whom, and how much of the same sample they see.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>

namespace ptyche {

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
