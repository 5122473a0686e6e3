// LSQ-ML: least-squares maximum likelihood (Odstrcil, Menzel & Guizar-Sicairos, Opt. Express 26,
// 3108 (2018)): preconditioned directions for object and probe from a batch (their eqs. 17 and 24),
// and the two step lengths that fit the batch's exit waves best (their eqs. 19 to 23).
#include <memory>

#include "ptyche/solve/illumination.h"
#include "ptyche/solve/side_steps.h"
#include "ptyche/solve/solver.h"

namespace ptyche {
namespace {

constexpr double kDamping = 0.1;     // of the largest illumination, added to every pixel's
constexpr double kLongestStep = 4;   // times the preconditioned direction
constexpr double kProbeShare = 0.5;  // of the probe's optimal step: it serves all other batches too

struct StepLengths {
  double object = 0, probe = 0;
};

double sum_of(const at::Tensor& values) { return values.sum(at::kDouble).item<double>(); }

double inner_product(const at::Tensor& a, const at::Tensor& b) {
  return sum_of(at::view_as_real(a) * at::view_as_real(b));
}

/// What one batch wants: directions (downhill) and what they do to its exit waves.
struct Directions {
  at::Tensor object, probe;
  at::Tensor light, power;  // sum |P|^2 on the canvas, sum |O|^2 under the probe, of the batch
};

/// The loss falls like |change of the exit waves|^2 in this many units (likelihoods as amplitude
/// loss: 1; Poisson: 2, as half its deviance is twice the squared change of amplitude).
double curvature_of(const SolverProblem& problem) {
  return problem.options.likelihood == LossKind::poisson ? 2 : 1;
}

Directions directions_of(const SolverProblem& problem, const SolverState& state,
                         const at::Tensor& corners, const SolverGradient& slope,
                         double largest_light) {
  Directions found;
  found.light =
      spread_at(summed_power(state.probe), corners, state.object.size(0), state.object.size(1));
  found.power = gathered_at(power_of(state.object), corners, problem.pattern_size());
  const double unit = -0.5 / curvature_of(problem);
  found.object = slope.object * (unit / (found.light + kDamping * largest_light));
  found.probe = slope.probe * (unit / (found.power + kDamping * found.power.max()));
  return found;
}

/// Minimum of |chi - a P dO - b O dP|^2 over the batch: two equations. The probe's fraction of a
/// pixel is left out of the curvatures.
StepLengths best_lengths(const SolverProblem& problem, const SolverState& state,
                         const at::Tensor& corners, const SolverGradient& slope,
                         const Directions& along) {
  const double unit = -0.5 / curvature_of(problem);
  const double b1 = unit * inner_product(slope.object, along.object);
  const double b2 = unit * inner_product(slope.probe, along.probe);
  const double a11 = sum_of(along.light * power_of(along.object));
  const double a22 = sum_of(along.power * summed_power(along.probe));
  const at::Tensor seen =
      gathered_at(along.object.conj() * state.object, corners, problem.pattern_size());
  const at::Tensor mixed = (state.probe.conj() * along.probe).sum(0);
  const double a12 = sum_of(at::real(seen * mixed));
  const double determinant = a11 * a22 - a12 * a12;
  if (!(determinant > 1e-6 * a11 * a22)) return {};
  const auto limited = [](double length) { return std::clamp(length, 0.0, kLongestStep); };
  return {limited((b1 * a22 - b2 * a12) / determinant),
          limited((b2 * a11 - b1 * a12) / determinant)};
}

class Lsqml : public Solver {
 public:
  double pass(const SolverProblem& problem, SolverState& state, const Pass& pass) override {
    const SolverOptions& options = problem.options;
    const bool move_probe = !options.fixed_probe && pass.total > 0;
    const double factor = pass.step_factor(options.last_step);
    start_velocities(state);
    double loss = 0;
    for (const at::Tensor& batch : shuffled_batches(problem, 2 * options.batch, pass)) {
      const SolverGradient slope = gradient(problem, state, batch);
      loss += slope.loss;
      move(problem, state, batch, slope, move_probe);
      side_.after_batch(problem, state, batch, slope, pass.total > 0 ? factor : 0);
      constrain(problem, state);
    }
    side_.after_pass(problem, state, pass, factor);
    return loss;
  }

  void save(Hdf5File& file, const std::string& group) const override {
    if (object_.defined()) file.write(group + "/object", object_);
    if (probe_.defined()) file.write(group + "/probe", probe_);
    side_.save(file, group);
  }

  void load(const Hdf5File& file, const std::string& group) override {
    if (file.has(group + "/object")) object_ = file.read(group + "/object").values;
    if (file.has(group + "/probe")) probe_ = file.read(group + "/probe").values;
    side_.load(file, group);
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
    const double light = summed_power(state.probe).max().item<double>();
    Directions along = directions_of(problem, state, corners, slope, light);
    const StepLengths length = best_lengths(problem, state, corners, slope, along);
    const double momentum = problem.options.momentum;
    object_.mul_(momentum).add_(along.object, (1 - momentum) * length.object);
    state.object.add_(object_);
    if (!move_probe) return;
    probe_.mul_(momentum).add_(along.probe, (1 - momentum) * kProbeShare * length.probe);
    state.probe.add_(probe_);
  }

  at::Tensor object_, probe_;  // velocities
  SideSteps side_;
};

}  // namespace

std::unique_ptr<Solver> make_lsqml() { return std::make_unique<Lsqml>(); }

}  // namespace ptyche
