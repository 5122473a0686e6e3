// Who is next to whom.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace ptyche {

/// Rows (n, count) int64 of the `count` nearest of `points` (n, 2) float64, by distance, found by a
/// k-d tree (nanoflann). Column 0 is the point itself, also where several points coincide.
/// 1 <= count <= n.
at::Tensor nearest_points(const at::Tensor& points, std::int64_t count);

}  // namespace ptyche
