#include "ptyche/solve/side_steps.h"

#include <algorithm>
#include <cmath>

namespace ptyche {
namespace {

constexpr std::int64_t kLongestWait = 5;

std::int64_t passes_before_moving(const SolverProblem& problem) {
  std::int64_t passes = 0;
  for (const ChainLink& link : problem.options.chain) passes += link.epochs;
  return std::min(kLongestWait, passes / 10);
}

}  // namespace

void SideSteps::after_batch(const SolverProblem& problem, SolverState& state,
                            const at::Tensor& batch, const SolverGradient& gradient,
                            double factor) {
  if (gradient.background_root.defined())
    moment_step(state.background_root, gradient.background_root, background_,
                problem.options.background_step * std::sqrt(problem.mean_counts()) * factor);
  if (!slopes_.defined()) slopes_ = at::zeros_like(state.moves);
  slopes_.index_copy_(0, batch, gradient.moves.to(at::kDouble));
}

void SideSteps::after_pass(const SolverProblem& problem, SolverState& state, const Pass& pass,
                           double factor) {
  const SolverOptions& options = problem.options;
  if (options.positions == PositionFreedom::none || pass.total < passes_before_moving(problem))
    return;
  const double limit = options.position_step * factor;
  if (limit > 0)
    state.moves += position_step(slopes_, mean_slopes_, problem.positions,
                                 position_curvature(state.probe), limit, options.positions);
  const auto room = static_cast<double>(problem.room_px);
  state.moves.clamp_(-room, room);
}

void SideSteps::after_projections(const SolverProblem& problem, SolverState& state,
                                  const Pass& pass) {
  const SolverOptions& options = problem.options;
  if (options.positions == PositionFreedom::none && !options.background) return;
  const double factor = pass.step_factor(options.last_step);
  for (const at::Tensor& batch : shuffled_batches(problem, options.batch, pass))
    after_batch(problem, state, batch, gradient(problem, state, batch), factor);
  after_pass(problem, state, pass, factor);
}

void SideSteps::save(Hdf5File& file, const std::string& group) const {
  write_moments(file, group + "/background", background_);
  if (mean_slopes_.defined()) file.write(group + "/mean_slopes", mean_slopes_);
}

void SideSteps::load(const Hdf5File& file, const std::string& group) {
  background_ = read_moments(file, group + "/background");
  if (file.has(group + "/mean_slopes")) mean_slopes_ = file.read(group + "/mean_slopes").values;
}

void constrain(const SolverProblem& problem, SolverState& state) {
  const SolverOptions& options = problem.options;
  if (options.max_amplitude > 0) {
    const at::Tensor amplitude = state.object.abs();
    state.object.mul_(options.max_amplitude / amplitude.clamp_min(options.max_amplitude));
  }
  if (options.probe_support > 0) {
    const double half = static_cast<double>(problem.pattern_size()) / 2;
    const at::Tensor axis = (at::arange(problem.pattern_size(), at::kFloat) - half).div_(half);
    const at::Tensor radius = (axis.square().unsqueeze(1) + axis.square()).sqrt();
    state.probe.mul_(radius.le(options.probe_support));
  }
}

}  // namespace ptyche
