// Slow waves of the object's phase corrected at once, by the tilts of the exit waves.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "ptyche/solve/problem.h"

namespace ptyche {

/// The grid of nodes; node (0, 0) lies under pixel (0, 0) of the canvas.
struct PhaseNodes {
  double apart = 1;                           ///< px
  std::int64_t rows = 0, cols = 0;            ///< nodes
  std::int64_t across = 0;                    ///< of them along an axis that a pattern touches
  std::int64_t first_row = 0, first_col = 0;  ///< the canvas pixel under pixel (0, 0) of the object

  std::int64_t count() const { return rows * cols; }
};

/// What n patterns see of the nodes, and what they ask for.
struct Sight {
  at::Tensor index;              ///< (n, k) int32, the nodes that each pattern touches
  at::Tensor slope;              ///< (n, 2, k) float32, K_j, 1/px
  at::Tensor tilt, information;  ///< (n, 2) float64
};

/// That of all patterns of a problem whose counts are in this process; with the host, wherever the
/// problem is.
Sight sight_of(const SolverProblem& problem, const SolverState& state, const PhaseNodes& nodes,
               const GradientOptions& options);

/// What the object's phase lacks in waves that are longer than the probe: (rows, cols) float32 rad
/// on the state's canvas. Such a wave tilts each exit wave psi_j by theta_j (rad/px), the mean of
/// the wave's slope weighed by |psi_j|^2, and a tilt shows in that pattern alone. So Fisher scoring
/// (Nocedal & Wright, Numerical Optimization, 2nd ed., ch. 10.3) in two steps. Of each pattern and
/// axis, by amplitudes a = sqrt(counts), A = sqrt(expected), dA what d psi = i r psi makes of A:
///   theta_j = sum_q (a - A) dA / sum_q dA^2, of information F_j = 4 sum_q dA^2;
/// then for phases c at the nodes of a grid, linear between them, K_j c being the slopes that
/// pattern j sees,
///   min_c sum_j F_j |K_j c - theta_j|^2 + smoothness |differences of c|^2
/// by conjugate gradients (the same, algorithm 5.3). What is finer than the grid stays as it is.
/// With the loss that decides it takes two to three passes of L-BFGS. For the far field: near by
/// the probe fills the pattern, and no wave on the canvas is longer.
at::Tensor slow_phase(const SolverProblem& problem, const SolverState& state,
                      const GradientOptions& options = {});

}  // namespace ptyche
