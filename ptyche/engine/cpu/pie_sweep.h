// Passes of ePIE and rPIE over patterns.
#pragma once

#include <span>

#include "ptyche/engine/cpu/projection_memory.h"

namespace ptyche::cpu {

struct PieOptions {
  double object_step = 1, object_regularisation = 0.3;
  double probe_step = 0, probe_regularisation = 1;  ///< probe_step 0 = probe kept
};

/// Updates object and probe by the patterns `order`, as many at a time as the state has shares.
/// The shares of a batch are merged: objects with the summed power of the probes, so that patterns
/// that do not overlap move it as if they came one after the other, and the same pixel is never
/// moved farther than least squares would; the probe's changes are added, and no step is longer
/// than their mean. A batch of one is the sequential algorithm. The result does not depend on the
/// number of threads. Returns the sum over patterns and counted pixels of (sqrt(I) - sqrt(n))^2,
/// each before its own update.
double pie_sweep(ProjectionMemory<float>& state, std::span<const std::int64_t> order,
                 const PieOptions& options);

}  // namespace ptyche::cpu
