// The steps of `ml` in one pass, by one process or by several ranks together, each of which makes
// them on the window of the object that its own patterns touch (shared_ml.h).
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <vector>

#include "ptyche/solve/adam.h"
#include "ptyche/solve/auxiliary_updates.h"
#include "ptyche/solve/problem.h"

namespace ptyche {

/// What is kept from step to step and from pass to pass.
struct MlMemory {
  ComplexAdam object = {}, probe = {};
  AuxiliaryUpdates auxiliary;
};

/// What is the same for all steps of a pass.
struct MlPass {
  double object_step = 0;  ///< in units of |O| = 1
  double probe_step = 0;   ///< in shares of the probe's peak; 0 = held
  double slope_prior = 0;  ///< see add_smoothness; 0 = no prior
  double auxiliary = 0;    ///< factor of the steps of what else is refined
  GradientOptions gradient = {};
};

struct MlBatch {
  at::Tensor patterns;  ///< (k) int64, indices into problem.frames; a rank may have none
  double share = 0;     ///< of the prior
};

/// Adds to a gradient what the other ranks have found for the same batch: to its probe's and
/// background's all, to its object's what they see of the same pixels.
using AddOtherRanks = std::function<void(SolverGradient&)>;

/// Changes state and memory. Returns the loss of the process's own patterns.
double ml_steps(const SolverProblem& problem, SolverState& state,
                const std::vector<MlBatch>& batches, const MlPass& pass, MlMemory& memory,
                const AddOtherRanks& add_others = {});

}  // namespace ptyche
