// What every solver refines in the same way beside object and probe: positions and background.
#pragma once

#include <string>

#include "ptyche/solve/moments.h"
#include "ptyche/solve/solver.h"

namespace ptyche {

/// The part of `moves` (n, 2) that a freedom allows, given positions (n, 2): `jitter` takes out the
/// shift and the 2 x 2 matrix that fit it best over the grid, `affine` the shift, `none` all of it.
at::Tensor allowed_moves(const at::Tensor& moves, const at::Tensor& positions,
                         PositionFreedom freedom);

/// Moves of all patterns of a scan, (frames, 2), from those of the used ones: theirs, and for the
/// others what the used grid as a whole does, by least squares of a shift and a 2 x 2 matrix.
at::Tensor moves_of_all(const Scan& scan, const at::Tensor& used, const at::Tensor& moves);

/// How Adam's means forget, for positions: each has one slope per pass and no noise floor.
MomentOptions position_moments();

/// Background: a step of Adam per batch. Positions: the slopes of a pass are gathered and make one
/// step of Adam at its end; nothing moves before a tenth of the chain's passes, at most 5, is done,
/// for at first the image is wrong and not the positions.
class SideSteps {
 public:
  void after_batch(const SolverProblem& problem, SolverState& state, const at::Tensor& batch,
                   const SolverGradient& gradient, double factor);
  void after_pass(const SolverProblem& problem, SolverState& state, const Pass& pass,
                  double factor);
  void save(Hdf5File& file, const std::string& group) const;
  void load(const Hdf5File& file, const std::string& group);

 private:
  Moments background_, positions_;
  at::Tensor slopes_;  // (n, 2) of the pass so far
};

/// What the options demand of object and probe: a largest amplitude, a support of the probe.
void constrain(const SolverProblem& problem, SolverState& state);

}  // namespace ptyche
