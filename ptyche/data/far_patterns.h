// Which patterns share object pixels with which, by their positions alone.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace ptyche {

/// The patterns cut into parts of which none shares a pixel of the object with another: numbers (k)
/// int64 ascending of each part, the part of most patterns first. Patterns that are nearly so far
/// apart, by the boxes around their neighbours, count as sharing.
///   positions  (n, 2) float64, finite
///   reach      the side of a pattern's window in the unit of the positions, > 0
std::vector<at::Tensor> parts_without_overlap(const at::Tensor& positions, double reach);

/// Of those parts the few patterns, (k) int64 ascending, that lie alone or in small parts: each
/// part, and all of them together, less than kFewFarAway of all. None where that is not so: more is
/// another fault than a few wrong places.
at::Tensor far_patterns(const std::vector<at::Tensor>& parts);
inline constexpr double kFewFarAway = 0.1;

}  // namespace ptyche
