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

MomentOptions position_moments() { return {.keep_mean = 0.7, .keep_square = 0.9, .floor = 0}; }

at::Tensor allowed_moves(const at::Tensor& moves, const at::Tensor& positions,
                         PositionFreedom freedom) {
  if (freedom == PositionFreedom::none) return at::zeros_like(moves);
  std::vector<at::Tensor> grid{at::ones({positions.size(0), 1}, at::kDouble)};
  const bool whole_grid_is_fixed = freedom == PositionFreedom::jitter && positions.size(0) > 3;
  if (whole_grid_is_fixed) grid.push_back(positions - positions.mean(0));
  const at::Tensor basis = std::get<0>(at::linalg_qr(at::cat(grid, 1)));
  return moves - basis.matmul(basis.t().matmul(moves));
}

at::Tensor moves_of_all(const Scan& scan, const at::Tensor& used, const at::Tensor& moves) {
  const at::Tensor all = scan.positions() - scan.positions().mean(0);
  const at::Tensor grid = at::cat({at::ones({all.size(0), 1}, at::kDouble), all}, 1);
  const at::Tensor fit = at::linalg_pinv(grid.index_select(0, used)).matmul(moves);
  return grid.matmul(fit).index_copy_(0, used, moves);
}

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
  const at::Tensor before = state.moves.clone();
  moment_step(state.moves, slopes_, positions_, options.position_step * factor, position_moments());
  state.moves = before + allowed_moves(state.moves - before, problem.positions, options.positions);
}

void SideSteps::save(Hdf5File& file, const std::string& group) const {
  write_moments(file, group + "/background", background_);
  write_moments(file, group + "/positions", positions_);
}

void SideSteps::load(const Hdf5File& file, const std::string& group) {
  background_ = read_moments(file, group + "/background");
  positions_ = read_moments(file, group + "/positions");
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
