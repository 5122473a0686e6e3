// Passes of the difference map and its relatives over all patterns.
#pragma once

#include "ptyche/physics/cpu/projection_memory.h"

namespace ptyche::cpu {

struct ReflectOptions {
  Reflection<float> how;
  bool refine_probe = true;
  /// Least share of the largest summed power that a pixel's step is divided by, > 0: slows what
  /// hardly any light reaches, and moves nothing that agrees.
  double regularisation = 1e-3;
};

/// One pass: the exit waves of all patterns (Reflection), then the object, then the probe that fits
/// them best in least squares. The result does not depend on the number of threads. Returns the sum
/// over patterns and counted pixels of (sqrt(I) - sqrt(n))^2 of the waves that were projected.
double reflect_sweep(ProjectionMemory<float>& state, const ReflectOptions& options);

}  // namespace ptyche::cpu
