// Where the probe is allowed to be, as PtychoPINN draws it.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace ptyche {

/// The disc r < N // 4 around the point between the four central pixels (index (N - 1) / 2 for even
/// N), (N, N) bool. size >= 1.
at::Tensor hard_probe_mask(std::int64_t size);

/// A disc r < diameter / 2 around the same point, blurred by a Gaussian that is cut at 3 sigma,
/// over its largest value: (N, N) float64 in 0..1.
///   diameter_px  > 0; 0 = N / 2
///   sigma_px     > 0
at::Tensor soft_probe_mask(std::int64_t size, double diameter_px = 0, double sigma_px = 1);

}  // namespace ptyche
