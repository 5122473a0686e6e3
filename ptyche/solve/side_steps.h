// What every solver refines in the same way beside object and probe: positions and background.
#pragma once

#include <string>

#include "ptyche/solve/moments.h"
#include "ptyche/solve/position_step.h"
#include "ptyche/solve/solver.h"

namespace ptyche {

/// Background: a step of Adam per batch. Positions: the slopes of a pass are gathered and make one
/// position_step at its end; nothing moves before a tenth of the chain's passes, at most 5, is
/// done, for at first the image is wrong and not the positions.
class SideSteps {
 public:
  void after_batch(const SolverProblem& problem, SolverState& state, const at::Tensor& batch,
                   const SolverGradient& gradient, double factor);
  void after_pass(const SolverProblem& problem, SolverState& state, const Pass& pass,
                  double factor);
  /// Both, by one look at all patterns, for solvers that follow no gradient themselves; nothing
  /// where the options free neither.
  void after_projections(const SolverProblem& problem, SolverState& state, const Pass& pass);
  void save(Hdf5File& file, const std::string& group) const;
  void load(const Hdf5File& file, const std::string& group);

 private:
  Moments background_;
  at::Tensor slopes_, mean_slopes_;  // (n, 2), of the pass so far and of the earlier ones
};

/// What the options demand of object and probe: a largest amplitude, a support of the probe.
void constrain(const SolverProblem& problem, SolverState& state);

}  // namespace ptyche
