// PtychoPINN's probe for scans that bring none.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace ptyche {

/// A disc with a soft edge: the points of a Gaussian w(r) w(c), w(i) = exp(-(i - (N - 1) / 2)^2 /
/// (2 s^2)) over its maximum, s = N / (0.7 pi^2), that are above 1/2, blurred by a Gaussian of 1
/// px, plus 1e-9 (so that no pixel is quite dark). Centred between pixels, at (N - 1) / 2. Returns
/// (N, N) float64, dimensionless near 1; size >= 8. Its power is set by calibrate_probe_to_mean
/// (PtychoPINN's way) or calibrate_probe (data/probe_power.h, to counts).
at::Tensor default_probe(std::int64_t size);

}  // namespace ptyche
