// Passes of the difference map and its relatives over all patterns.
#pragma once

#include "ptyche/engine/cpu/projection_memory.h"

namespace ptyche::cpu {

struct ReflectOptions {
  Reflection<float> how;  ///< `trust` is set for each pattern
  bool refine_probe = true;
  /// Go no farther towards the amplitudes than to where photon noise alone could be the difference
  /// (judged by the pattern's misfit in the pass before): else the difference map, whose
  /// constraints noise makes impossible to meet, walks away from the image that it has found.
  bool within_noise = false;
  /// Least share of the largest summed power that a pixel's step is divided by, > 0: slows what
  /// hardly any light reaches, and moves nothing that agrees.
  double regularisation = 1e-3;
};

/// One pass: the exit waves of all patterns (Reflection), then the object, then the probe that fits
/// them best in least squares. The result does not depend on the number of threads. Returns the sum
/// over patterns and counted pixels of (sqrt(I) - sqrt(n))^2 of the waves that were projected.
double reflect_sweep(ProjectionMemory<float>& state, const ReflectOptions& options);

}  // namespace ptyche::cpu
