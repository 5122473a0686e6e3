#include "ptyche/solve/auxiliary_updates.h"

#include <algorithm>
#include <cmath>

#include "ptyche/data/probe.h"
#include "ptyche/solve/illumination.h"
#include "ptyche/solve/intensities.h"
#include "ptyche/storage/layout.h"

namespace ptyche {
namespace {

constexpr std::int64_t kLongestWait = 5;

constexpr double kKeep = 0.7;       // share of the earlier gradients in the mean
constexpr double kOwnLength = 0.5;  // root mean square of the patterns' own steps over the limit

std::int64_t passes_before_moving(const SolverProblem& problem) {
  return std::min(kLongestWait, passes_of(problem.options.chain) / 10);
}

constexpr std::int64_t kSmallBatch = 16;

}  // namespace

std::int64_t batch_of(const BatchOptions& options, const SolverProblem& problem,
                      std::int64_t steps) {
  return options.batch ? static_cast<std::int64_t>(*options.batch)
                       : std::max(kSmallBatch, problem.patterns() / steps);
}

std::vector<Field> fields(BatchOptions& options, const SolverOptions& common,
                          const std::string& batch_help) {
  std::vector<Field> all = joined({{{.name = "batch",
                                     .target = &options.batch,
                                     .unit = "patterns",
                                     .help = batch_help,
                                     .range = {1, 1e6}}},
                                   fields(options.gradient)});
  if (common.positions != PositionFreedom::none)
    all.push_back({.name = "position-step",
                   .target = &options.position_step,
                   .unit = "px",
                   .help = "largest correction of a position in one pass, about",
                   .range = {0, 10}});
  return all;
}

std::vector<Field> auxiliary_fields(BatchOptions& options, const SolverOptions& common) {
  if (!common.refines_more()) return {};
  return fields(options, common,
                "patterns per step of background and positions: 16, in large scans a 64th of all");
}

void AuxiliaryUpdates::after_batch(const SolverProblem& problem, SolverState& state,
                                   const at::Tensor& batch, const SolverGradient& gradient,
                                   double factor) {
  if (gradient.background_root.defined())
    adam_step(state.background_root, gradient.background_root, background_,
              problem.options.background_step * std::sqrt(problem.mean_counts()) * factor);
  if (gradient.intensities.defined() && factor > 0)
    state.intensities.index_copy_(
        0, batch,
        next_intensities(state.intensities.index_select(0, batch), gradient.intensities,
                         problem.totals.index_select(0, batch), options_.gradient.likelihood));
  if (!position_gradient_.defined())
    position_gradient_ = at::zeros_like(state.position_corrections);
  position_gradient_.index_copy_(0, batch, gradient.position_corrections.to(at::kDouble));
}

void AuxiliaryUpdates::after_pass(const SolverProblem& problem, SolverState& state,
                                  const Pass& pass, double factor) {
  normalise_intensities(state);
  const SolverOptions& options = problem.options;
  if (options.positions == PositionFreedom::none || pass.total < passes_before_moving(problem))
    return;
  const double limit = options_.position_step * factor;
  if (limit > 0)
    state.position_corrections +=
        position_step(position_gradient_, mean_position_gradient_, problem.positions,
                      position_curvature(state.main_probe()), limit, options.positions);
  const auto room = static_cast<double>(problem.room_px);
  state.position_corrections.clamp_(-room, room);
}

void AuxiliaryUpdates::after_projections(const SolverProblem& problem, SolverState& state,
                                         const Pass& pass) {
  if (!problem.options.refines_more() && !state.intensities.defined()) return;
  const double factor = pass.step_factor(problem.options.last_step);
  for (const at::Tensor& batch :
       shuffled_batches(problem, batch_of(options_, problem, kStepsPerPass), pass))
    after_batch(problem, state, batch, gradient(problem, state, batch, options_.gradient), factor);
  after_pass(problem, state, pass, factor);
}

void AuxiliaryUpdates::save(Hdf5File& file, const std::string& group) const {
  write_adam(file, group + "/background", background_);
  if (mean_position_gradient_.defined())
    write(file, like(mean_position_gradient_, group + "/mean_position_gradient"),
          mean_position_gradient_);
}

void AuxiliaryUpdates::load(const Hdf5File& file, const std::string& group,
                            const SolverState& state) {
  background_ = read_adam(file, group + "/background", state.background_root);
  mean_position_gradient_ =
      read_if_there(file, like(state.position_corrections, group + "/mean_position_gradient"));
}

void constrain(const SolverProblem& problem, SolverState& state) {
  const SolverOptions& options = problem.options;
  if (options.max_amplitude > 0) {
    const at::Tensor amplitude = state.object.abs();
    state.object.mul_(options.max_amplitude / amplitude.clamp_min(options.max_amplitude));
  }
  if (options.probe_support > 0) {
    const double half = static_cast<double>(problem.pattern_size()) / 2;
    const at::Tensor axis =
        (at::arange(problem.pattern_size(), state.probe.options().dtype(at::kFloat)) - half)
            .div_(half);
    const at::Tensor radius = (axis.square().unsqueeze(1) + axis.square()).sqrt();
    state.probe.mul_(radius.le(options.probe_support));
  }
}

at::Tensor allowed_corrections(const at::Tensor& corrections, const at::Tensor& positions,
                               PositionFreedom freedom) {
  if (freedom == PositionFreedom::none) return at::zeros_like(corrections);
  std::vector<at::Tensor> grid{at::ones({positions.size(0), 1}, positions.options())};
  const bool whole_grid_is_fixed = freedom == PositionFreedom::jitter && positions.size(0) > 3;
  if (whole_grid_is_fixed) grid.push_back(positions - positions.mean(0));
  const at::Tensor basis = std::get<0>(at::linalg_qr(at::cat(grid, 1)));
  return corrections - basis.matmul(basis.t().matmul(corrections));
}

at::Tensor corrections_of_all(const Scan& scan, const at::Tensor& used,
                              const at::Tensor& corrections) {
  const at::Tensor all = scan.positions() - scan.positions().mean(0);
  const at::Tensor grid = at::cat({at::ones({all.size(0), 1}, at::kDouble), all}, 1);
  const at::Tensor fit = at::linalg_pinv(grid.index_select(0, used)).matmul(corrections);
  return grid.matmul(fit).index_copy_(0, used, corrections);
}

double position_curvature(const at::Tensor& probe) {
  const std::int64_t size = probe.size(-1);
  const at::Tensor spectrum = mode_power(at::fft_fft2(probe)) / (size * size);
  const at::Tensor frequency = at::fft_fftfreq(size, 1.0, spectrum.options()) * (2 * M_PI);
  return 2 * (spectrum * frequency.square().unsqueeze(1)).sum(at::kDouble).item<double>();
}

at::Tensor position_step(const at::Tensor& gradient, at::Tensor& mean, const at::Tensor& positions,
                         double curvature, double limit_px, PositionFreedom freedom) {
  mean = mean.defined() ? kKeep * mean + (1 - kKeep) * gradient : (1 - kKeep) * gradient;
  if (!(curvature > 0)) return at::zeros_like(gradient);  // a probe that is the same everywhere
  const at::Tensor newton = mean / -curvature;
  const at::Tensor own = allowed_corrections(newton, positions, PositionFreedom::jitter);
  const double rms = std::max(own.square().mean().sqrt().item<double>(), 1e-30);
  const double gain = std::min(kLargestGain, kOwnLength * limit_px / rms);
  const at::Tensor step = (gain * own).clamp(-limit_px, limit_px);
  if (freedom != PositionFreedom::affine) return allowed_corrections(step, positions, freedom);
  const at::Tensor grid = kGridGain * allowed_corrections(newton - own, positions, freedom);
  const double longest = std::max(grid.abs().max().item<double>(), 1e-30);
  const at::Tensor both = step + grid * std::min(1.0, limit_px / longest);
  return allowed_corrections(both.clamp(-limit_px, limit_px), positions, freedom);
}

}  // namespace ptyche
