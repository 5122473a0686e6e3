#include "ptyche/solve/ml_steps.h"

#include "ptyche/solve/illumination.h"

namespace ptyche {
namespace {

void step_probe(SolverState& state, const at::Tensor& slope, double share, ComplexAdam& moments) {
  const double peak = state.main_probe()[0].abs().max().item<double>();
  adam_step(state.probe, slope, moments, share * peak);
}

}  // namespace

double ml_steps(const SolverProblem& problem, SolverState& state,
                const std::vector<MlBatch>& batches, const MlPass& pass, MlMemory& memory,
                const AddOtherRanks& add_others) {
  double loss = 0;
  for (const MlBatch& batch : batches) {
    SolverGradient slope = batch.patterns.size(0) > 0
                               ? gradient(problem, state, batch.patterns, pass.gradient)
                               : zero_gradient(state);
    loss += slope.loss;
    if (add_others) add_others(slope);
    if (pass.slope_prior > 0)
      add_smoothness(state.object, {.slope = pass.slope_prior}, batch.share, slope.object);
    adam_step(state.object, slope.object, memory.object, pass.object_step);
    if (pass.probe_step > 0) step_probe(state, slope.probe, pass.probe_step, memory.probe);
    memory.auxiliary.after_batch(problem, state, batch.patterns, slope, pass.auxiliary);
    constrain(problem, state);
  }
  return loss;
}

}  // namespace ptyche
