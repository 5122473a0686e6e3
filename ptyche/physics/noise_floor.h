// What photon noise alone does to a score: patterns drawn from the model itself.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// Poisson draws of the intensities, one random stream per frame (seed 0), so that they do not
/// depend on batches or threads.
///   intensity  (k, ...) float64 counts >= 0
///   frames     (k) int64, names the stream of each row
/// Returns float64 of the same shape.
at::Tensor poisson_draws(const at::Tensor& intensity, const at::Tensor& frames);

}  // namespace ptyche
