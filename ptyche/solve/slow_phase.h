// Slow waves of the object's phase corrected at once, by the tilts of the exit waves.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/solve/problem.h"

namespace ptyche {

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
/// Takes about as long as two passes of L-BFGS. For the far field: near by the probe fills the
/// pattern, and no wave on the canvas is longer.
at::Tensor slow_phase(const SolverProblem& problem, const SolverState& state);

}  // namespace ptyche
