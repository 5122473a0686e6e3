// Counts drawn from what is expected.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "ptyche/core/random.h"

namespace ptyche {

/// Poisson draws of the intensities, one random stream (seed, purpose) per frame, so that they do
/// not depend on batches or threads.
///   intensity  (k, ...) float64 counts >= 0
///   frames     (k) int64, names the stream of each row
/// Returns float64 of the same shape.
at::Tensor poisson_draws(const at::Tensor& intensity, const at::Tensor& frames, std::uint64_t seed,
                         Purpose purpose);

}  // namespace ptyche
