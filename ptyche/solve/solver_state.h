// Between a reconstruction and what solvers change.
#pragma once

#include <optional>

#include "ptyche/solve/solver_problem.h"

namespace ptyche {

/// The state before the first pass: a flat object and the scan's probe, or `start`: its object
/// where the canvases overlap, its probe, and, if its patterns are the scan's, its positions and
/// background. Throws InvalidInput if its patterns have another size, its object or probe is not
/// finite or its probe has no light.
SolverState start_state(const SolverProblem& problem, const std::optional<Reconstruction>& start);

/// The result: orthogonal modes whose photons are those of the scan's probe, 1 + 0i where no used
/// pattern lights the object, refined positions of the used patterns; all others follow the grid as
/// a whole (moves_of_all).
Reconstruction finished(const SolverProblem& problem, const SolverState& state,
                        const std::vector<double>& losses);

}  // namespace ptyche
