#include "ptyche/solve/intensities.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ptyche/data/probe.h"

namespace ptyche {
namespace {

constexpr std::int64_t kPatternsToFit = 32;  // at a time
// The probe's centre moves by 2 k times its variance to first order; a few steps find the rest.
constexpr int kStraighteningSteps = 3;
constexpr double kLeastVariance = 1;   // px^2
constexpr double kLeastFactor = 0.01;  // of the mean beam: a pattern in the dark tells nothing

/// Centre of gravity of (N, N) and the variance about it, row and column: (2) float64 each.
struct Centre {
  at::Tensor at, variance;
};

Centre centre_of(const at::Tensor& power) {
  const at::Tensor axis = at::arange(power.size(0), power.options().dtype(at::kDouble));
  const at::Tensor profiles =
      at::stack({power.sum(1, false, at::kDouble), power.sum(0, false, at::kDouble)});
  const at::Tensor weight = profiles / profiles.sum(1, true).clamp_min(1e-30);
  const at::Tensor middle = (weight * axis).sum(1);
  return {middle, (weight * (axis - middle.unsqueeze(1)).square()).sum(1)};
}

/// The best factors of the patterns `which` (k) int64 for the state's image.
at::Tensor fitted(const SolverProblem& problem, const SolverState& state, const at::Tensor& which,
                  Engine engine) {
  SolverState free = state;
  free.intensities = at::ones_like(problem.totals);
  std::vector<at::Tensor> parts;
  for (const at::Tensor& batch : which.split(kPatternsToFit)) {
    const SolverGradient slope = gradient(problem, free, batch, {.engine = engine});
    parts.push_back(next_intensities(at::ones_like(slope.intensities), slope.intensities,
                                     problem.totals.index_select(0, batch), LossKind::poisson));
  }
  return at::cat(parts);
}

}  // namespace

at::Tensor next_intensities(const at::Tensor& now, const at::Tensor& slope,
                            const at::Tensor& totals, LossKind likelihood) {
  const double per_curvature = 2 / info_of(likelihood).curvature;
  const at::Tensor relative = per_curvature * now * slope / totals.clamp_min(1);
  return (now / (1 + relative).clamp(0.1, 2)).clamp_min(kLeastFactor);
}

at::Tensor first_intensities(const SolverProblem& problem,
                             const std::optional<Reconstruction>& start) {
  const IntensityFreedom freedom = problem.options.intensities;
  if (freedom == IntensityFreedom::off) return {};
  const bool known =
      start && start->intensities.defined() && start->intensities.size(0) == problem.scan.frames();
  if (!known && freedom == IntensityFreedom::automatic) return {};
  at::Tensor first = problem.totals;
  if (known) {
    const at::Tensor of_start = start->intensities.index_select(0, problem.frames).to(at::kDouble);
    const at::Tensor scale = problem.totals.mean();
    first = at::where(of_start.isfinite(), of_start, problem.totals / scale);
  }
  return (first / first.mean()).clamp_min(kLeastFactor);
}

void normalise_intensities(SolverState& state) {
  if (state.intensities.defined()) state.intensities = state.intensities / state.intensities.mean();
}

double intensity_spread(const SolverProblem& problem, const SolverState& state, Engine engine) {
  const std::int64_t few = std::min(kSpreadPatterns, problem.patterns());
  const at::Tensor which =
      (at::arange(few, problem.frames.options()) * problem.patterns()).floor_divide(few);
  const at::Tensor factors = fitted(problem, state, which, engine);
  const double noise =
      problem.totals.index_select(0, which).clamp_min(1).reciprocal().mean().item<double>();
  const double variance = (factors / factors.mean()).var().item<double>();
  return std::sqrt(std::max(variance - noise, 0.0));
}

void free_intensities(const SolverProblem& problem, SolverState& state, Engine engine) {
  state.intensities = fitted(problem, state, all_patterns(problem), engine);
  normalise_intensities(state);
}

void straighten_probe(const SolverProblem& problem, SolverState& state) {
  if (!state.intensities.defined() || problem.options.fixed_probe) return;
  const Centre wanted = centre_of(mode_power(problem.measured.probe()));
  const auto middle = static_cast<double>(problem.pattern_size() / 2);
  const at::Tensor places = corners_of(problem, state, all_patterns(problem)) + middle;
  const at::Tensor places_middle = places.mean(0);
  for (int step = 0; step < kStraighteningSteps; ++step) {
    const Centre found = centre_of(mode_power(state.main_probe()));
    const at::Tensor k = (found.at - wanted.at) / (2 * found.variance.clamp_min(kLeastVariance));
    const auto ramp = [&](std::int64_t rows, std::int64_t cols, const at::Tensor& zero) {
      const at::Tensor down = k[0] * (at::arange(rows, k.options()) - zero[0]);
      return at::exp(down.unsqueeze(1) + k[1] * (at::arange(cols, k.options()) - zero[1]));
    };
    const std::int64_t size = problem.pattern_size();
    const at::Tensor of_probe = ramp(size, size, at::full({2}, middle, k.options()));
    state.probe = state.probe / of_probe.to(at::kFloat);
    state.object = state.object * ramp(state.rows(), state.cols(), places_middle).to(at::kFloat);
    state.intensities = state.intensities / at::exp(2 * (places - places_middle).matmul(k));
  }
  const at::Tensor mean = state.intensities.mean();
  state.intensities = state.intensities / mean;
  state.object = state.object * mean.sqrt().to(at::kFloat);
}

at::Tensor intensities_of_all(const SolverProblem& problem, const SolverState& state) {
  if (!state.intensities.defined()) return {};
  const at::Tensor all =
      at::full({problem.scan.frames()}, std::numeric_limits<float>::quiet_NaN(), at::kFloat);
  return all.index_copy(0, problem.frames, state.intensities.to(at::kFloat));
}

}  // namespace ptyche
