// Waves of the object's phase that are longer than the probe. They hardly change a pattern (the
// information in one falls as its frequency squared), so every step along the gradient leaves them
// behind, and they carry most of the error once there is light enough for the rest.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/solve/problem.h"

namespace ptyche {

/// M v = t Re(v t*) + i t F^-1 g F Im(v t*) with t = O / |O|, the object's direction in the complex
/// plane, and g(k) = 1 + kp^2 / (k^2 + (2 / L)^2): what changes the amplitude stays, slow waves of
/// the phase become longer. kp = 2 / (2 pi sigma) cycles/px, sigma being the probe's root mean
/// square radius per axis, L the longer side of the canvas. Symmetric and positive, so it may stand
/// for (Hessian)^-1 where a quasi-Newton method begins (the k^-2 is that of phase retrieval from
/// transport of intensity: Teague, J. Opt. Soc. Am. 73, 1434 (1983)).
struct SlowWaves {
  at::Tensor direction;  ///< t, (rows, cols) complex64
  at::Tensor gain;       ///< g, (rows, cols / 2 + 1) float32, as rfft2 orders it
};

/// For the state's object and probe.
SlowWaves slow_waves(const SolverState& state);

/// M v of `along` (rows, cols) complex64, contiguous.
at::Tensor with_slow_waves(const SlowWaves& waves, const at::Tensor& along);

}  // namespace ptyche
