// LSQ-ML: least-squares maximum likelihood (Odstrcil, Menzel & Guizar-Sicairos, Opt. Express 26,
// 3108 (2018)): preconditioned directions for object and probe from a batch (their eqs. 17 and 24),
// and the two step lengths that fit the batch's exit waves best (their eqs. 19 to 23).
#include <ATen/Parallel.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "ptyche/data/probe.h"
#include "ptyche/solve/adam.h"
#include "ptyche/solve/auxiliary_updates.h"
#include "ptyche/solve/illumination.h"
#include "ptyche/solve/slow_waves.h"
#include "ptyche/storage/layout.h"

namespace ptyche {
namespace {

using Pixel = c10::complex<float>;

constexpr double kLightDamping = 0.1;  // of the largest illumination, added to every pixel's
constexpr double kLongestStep = 4;     // times the preconditioned direction
constexpr std::int64_t kBatchesPerPass = 8;
constexpr std::int64_t kGrain = 8192;
constexpr double kProbeShare = 0.5;  // of the probe's optimal step: it serves all other batches too

struct StepLengths {
  double object = 0, probe = 0;
};

/// What one batch wants: directions (downhill), the light that the object got from it and the power
/// that the probe saw, and the sums over pixels that the step lengths need.
struct Directions {
  at::Tensor object, probe;
  at::Tensor light, power;  // sum |P|^2 on the canvas, sum |O|^2 under the probe, of the batch
  double slope = 0, curvature = 0;  // of the misfit along `object`
};

double sum_of(const at::Tensor& values) { return values.sum(at::kDouble).item<double>(); }

/// slope * unit / (light + damping), with its sums, in one pass over the canvas.
void direct_object(Directions& found, const at::Tensor& slope, double unit, double damping) {
  if (!slope.is_cpu()) {
    const at::Tensor floored = found.light + damping;
    found.object = slope * (unit / floored);
    const at::Tensor power = at::view_as_real(found.object).square().sum(-1);
    found.slope = sum_of(floored * power);
    found.curvature = sum_of(found.light * power);
    return;
  }
  found.object = at::empty_like(slope);
  const auto* from = slope.const_data_ptr<Pixel>();
  const auto* light = found.light.const_data_ptr<float>();
  auto* to = found.object.data_ptr<Pixel>();
  using Sums = std::pair<double, double>;
  const auto factor = static_cast<float>(unit), floor = static_cast<float>(damping);
  const Sums sums = at::parallel_reduce(
      0, slope.numel(), kGrain, Sums{},
      [&](std::int64_t first, std::int64_t last, Sums sum) {
        for (std::int64_t i = first; i < last; ++i) {
          to[i] = from[i] * (factor / (light[i] + floor));
          const float power = std::norm(to[i]);
          sum.first += (light[i] + floor) * power;
          sum.second += light[i] * power;
        }
        return sum;
      },
      [](Sums a, Sums b) {
        return Sums{a.first + b.first, a.second + b.second};
      });
  found.slope = sums.first;
  found.curvature = sums.second;
}

Directions directions_of(const SolverProblem& problem, const SolverState& state,
                         const at::Tensor& corners, const SolverGradient& slope,
                         LossKind likelihood) {
  const at::Tensor light = mode_power(state.main_probe());
  const double unit = -0.5 / info_of(likelihood).curvature;
  Directions found;
  found.light = spread_at(light, corners, state.rows(), state.cols());
  found.power = gathered_power(state.plane(), corners, problem.pattern_size());
  direct_object(found, slope.object.contiguous(), unit, kLightDamping * light.max().item<double>());
  found.probe =
      slope.probe * (unit / (found.power + kLightDamping * found.power.max().item<double>()));
  return found;
}

/// Minimum of |chi - a P dO - b O dP|^2 over the batch: two equations. The probe's fraction of a
/// pixel is left out of the curvatures.
StepLengths best_lengths(const SolverProblem& problem, const SolverState& state,
                         const at::Tensor& corners, const SolverGradient& slope,
                         const Directions& along, LossKind likelihood) {
  const double unit = -0.5 / info_of(likelihood).curvature;
  const double b1 = along.slope;
  const double b2 = unit * sum_of(at::view_as_real(slope.probe) * at::view_as_real(along.probe));
  const double a11 = along.curvature;
  const double a22 = sum_of(along.power * mode_power(along.probe[0]));
  const at::Tensor seen =
      gathered_product(along.object[0], state.plane(), corners, problem.pattern_size());
  const at::Tensor mixed = (state.main_probe().conj() * along.probe[0]).sum(0);
  const double a12 = sum_of(at::real(seen * mixed));
  const double determinant = a11 * a22 - a12 * a12;
  if (!(determinant > 1e-6 * a11 * a22)) return {};
  const auto limited = [](double length) { return std::clamp(length, 0.0, kLongestStep); };
  return {limited((b1 * a22 - b2 * a12) / determinant),
          limited((b2 * a11 - b1 * a12) / determinant)};
}

struct LsqmlOptions {
  /// The likelihood is the quadratic misfit that the step lengths are made for.
  BatchOptions batches = {.gradient = {.likelihood = LossKind::amplitude_square}};
  double momentum = 0.5;       ///< 0..0.99
  double plateau = 1e-5;       ///< 0..1; 0 = all passes are made
  double slow_momentum = 0.5;  ///< see SlowMomentum
};

std::vector<Field> fields(LsqmlOptions& o, const SolverOptions& common) {
  return joined({fields(o.batches, common, "patterns per step: an eighth of all, at least 16"),
                 {momentum_field(o.momentum), slow_momentum_field(o.slow_momentum),
                  plateau_field(o.plateau, /*skips_passes=*/false)}});
}

class Lsqml : public Solver {
 public:
  using Options = LsqmlOptions;
  explicit Lsqml(const Options& options)
      : options_(options), auxiliary_(options.batches), slow_(options.slow_momentum) {}

  double pass(const SolverProblem& problem, SolverState& state, const Pass& pass) override {
    const SolverOptions& options = problem.options;
    const bool move_probe = !options.fixed_probe && pass.total > 0;
    const double factor = pass.step_factor(options.last_step);
    start_velocities(state);
    double loss = 0;
    slow_.before_pass(state);
    // Its steps have the length that fits a whole batch: large ones cost no passes and less time.
    const std::int64_t size = batch_of(options_.batches, problem, kBatchesPerPass);
    for (const at::Tensor& batch : shuffled_batches(problem, size, pass)) {
      const SolverGradient slope = gradient(problem, state, batch, options_.batches.gradient);
      loss += slope.loss;
      move(problem, state, batch, slope, move_probe);
      auxiliary_.after_batch(problem, state, batch, slope, pass.total > 0 ? factor : 0);
      constrain(problem, state);
    }
    auxiliary_.after_pass(problem, state, pass, factor);
    slow_.after_pass(state);
    return loss;
  }

  Plateau plateau() const override { return {options_.plateau}; }
  GradientOptions gradient_options() const override { return options_.batches.gradient; }

  void save(Hdf5File& file, const std::string& group) const override {
    if (object_.defined()) write(file, like(object_, group + "/object"), object_);
    if (probe_.defined()) write(file, like(probe_, group + "/probe"), probe_);
    auxiliary_.save(file, group);
    slow_.save(file, group);
  }

  void load(const Hdf5File& file, const std::string& group, const SolverState& state) override {
    object_ = read_if_there(file, like(state.object, group + "/object"));
    probe_ = read_if_there(file, like(state.probe, group + "/probe"));
    auxiliary_.load(file, group, state);
    slow_.load(file, group, state);
  }

 private:
  void start_velocities(const SolverState& state) {
    if (!object_.defined()) object_ = at::zeros_like(state.object);
    if (!probe_.defined() || probe_.sizes() != state.probe.sizes())
      probe_ = at::zeros_like(state.probe);
  }

  void move(const SolverProblem& problem, SolverState& state, const at::Tensor& batch,
            const SolverGradient& slope, bool move_probe) {
    const at::Tensor corners = whole_corners(problem, state, batch);
    const LossKind likelihood = options_.batches.gradient.likelihood;
    const Directions along = directions_of(problem, state, corners, slope, likelihood);
    const StepLengths length = best_lengths(problem, state, corners, slope, along, likelihood);
    const double momentum = options_.momentum, fresh = 1 - momentum;
    momentum_step(state.object, object_, along.object, fresh * length.object, momentum,
                  Momentum::heavy_ball);
    if (move_probe)
      momentum_step(state.probe, probe_, along.probe, fresh * kProbeShare * length.probe, momentum,
                    Momentum::heavy_ball);
  }

  Options options_;
  at::Tensor object_, probe_;  // velocities
  AuxiliaryUpdates auxiliary_;
  SlowMomentum slow_;
};

}  // namespace

SolverEntry lsqml_solver() {
  return describe_solver<Lsqml>("lsqml", "least-squares maximum likelihood with optimal steps");
}

}  // namespace ptyche
