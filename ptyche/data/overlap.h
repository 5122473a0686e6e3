// How much neighbouring patterns share, in two lengths.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// Diameter in pixels of the disc around the probe's centre of mass that holds 90 % of its power.
///   probe  (modes, N, N) complex, with power
double probe_diameter_px(const at::Tensor& probe);

/// Median distance in pixels from a position to its nearest neighbour; of more than 2000 positions,
/// 2000 that are spread evenly over the list are asked for theirs. 0 for fewer than two.
///   positions  (n, 2) float64
double median_step_px(const at::Tensor& positions);

}  // namespace ptyche
