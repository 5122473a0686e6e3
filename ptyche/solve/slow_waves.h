// Waves of the object's phase that are longer than the probe. They hardly change a pattern (the
// information in one falls as its frequency squared), so every step along the gradient leaves them
// behind, and they carry most of the error once there is light enough for the rest.
#pragma once

#include <ATen/ATen.h>

#include <string>

#include "ptyche/core/field.h"
#include "ptyche/solve/problem.h"

namespace ptyche {

class Hdf5File;

/// M v = t Re(v t*) + i t F^-1 g F Im(v t*) with t = O / |O|, the object's direction in the complex
/// plane, and g(k) = 1 + kp^2 / (k^2 + (2 / L)^2): what changes the amplitude stays, slow waves of
/// the phase become longer. kp = 2 / (2 pi sigma) cycles/px, sigma being the probe's root mean
/// square radius per axis, L the longer side of the canvas. Symmetric and positive, so it may stand
/// for (Hessian)^-1 where a quasi-Newton method begins (the k^-2 is that of phase retrieval from
/// transport of intensity: Teague, J. Opt. Soc. Am. 73, 1434 (1983)).
struct SlowWaves {
  at::Tensor direction;  ///< t, (slices, rows, cols) complex64
  at::Tensor gain;       ///< g, (rows, cols / 2 + 1) float32, as rfft2 orders it
};

/// Root mean square distance of a power (N, N) from its centre of gravity along one axis, px.
double rms_radius(const at::Tensor& power);

/// For the state's object and probe.
SlowWaves slow_waves(const SolverState& state);

/// `along` (rows, cols) complex64 becomes M v of it; where the object is dark (t = 0) it stays.
void stretch_slow_waves(const SlowWaves& waves, at::Tensor& along);

/// The share (rows, cols / 2 + 1) of each wave that counts as slow: 1 - 1 / g.
at::Tensor slow_share(const SlowWaves& waves);

/// Lets the slow waves of the phase go on from pass to pass, for solvers whose steps leave them
/// behind. With d_k what pass k turned the phase by, its slow waves only, v_k = d_k + beta v_(k-1),
/// and pass k + 1 begins with the object times exp(i beta v_k): the heavy ball of Polyak (USSR
/// Comput. Math. Math. Phys. 4, 1 (1964)) on these waves alone, for all others follow every step.
class SlowMomentum {
 public:
  explicit SlowMomentum(double coefficient) : coefficient_(coefficient) {}

  void before_pass(SolverState& state);
  void after_pass(const SolverState& state);
  void save(Hdf5File& file, const std::string& group) const;
  void load(const Hdf5File& file, const std::string& group, const SolverState& state);

 private:
  double coefficient_;  ///< beta, 0 = none
  at::Tensor before_, velocity_;
};

/// Its option.
Field slow_momentum_field(double& coefficient);

}  // namespace ptyche
