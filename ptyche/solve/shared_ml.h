// The steps of `ml` by several ranks together. Each makes them on the window of the object that its
// own patterns touch, with moments of its own; after each batch the ranks add up the gradients of
// the probe, of the background, and of the pixels that lie in several windows, so that what they
// have in common stays the same. Between passes all of it is with rank 0.
#pragma once

#include <vector>

#include "ptyche/core/ranks.h"
#include "ptyche/solve/ml_steps.h"

namespace ptyche {

struct CountsPart;

/// On rank 0: ml_steps but for rounding, and but for the floor of Adam's steps, which each rank
/// takes from its own window. Throws RankFailure.
double ml_steps_by_ranks(const SolverProblem& problem, SolverState& state,
                         const std::vector<MlBatch>& batches, const MlPass& pass, MlMemory& memory);

/// On every other rank, what rank 0 asks for by that.
RankMessage ml_steps_with_rank_0(CountsPart& part, const RankMessage& question);

}  // namespace ptyche
