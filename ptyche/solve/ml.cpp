// Maximum likelihood by mini-batches (Odstrcil et al., Opt. Express 26, 3108 (2018), sec. 2, name
// the likelihoods; Kingma & Ba 2015 the steps). The noise of the batches carries the image past
// the false minima in which whole passes get stuck when they start from a flat object.
#include <memory>

#include "ptyche/solve/illumination.h"
#include "ptyche/solve/side_steps.h"
#include "ptyche/solve/smoothness.h"
#include "ptyche/solve/solver.h"

namespace ptyche {
namespace {

class Ml : public Solver {
 public:
  double pass(const SolverProblem& problem, SolverState& state, const Pass& pass) override {
    const SolverOptions& options = problem.options;
    const double factor = pass.step_factor(options.last_step);
    // The first pass finds an object for the probe that was given.
    const bool move_probe = !options.fixed_probe && pass.total > 0;
    const double slope_prior = prior_of(problem, state);
    double loss = 0;
    for (const at::Tensor& batch : shuffled_batches(problem, options.batch, pass)) {
      SolverGradient slope = gradient(problem, state, batch);
      loss += slope.loss;
      if (slope_prior > 0)
        add_smoothness(state.object, slope_prior, share_of(problem, batch), slope.object);
      moment_step(state.object, slope.object, object_, options.object_step * factor);
      if (move_probe) step_probe(state, slope.probe, options.probe_step * factor);
      side_.after_batch(problem, state, batch, slope, pass.total > 0 ? factor : 0);
      constrain(problem, state);
    }
    side_.after_pass(problem, state, pass, factor);
    return loss;
  }

  AtPlateau at_plateau() const override { return AtPlateau::steps_fall; }

  void save(Hdf5File& file, const std::string& group) const override {
    write_moments(file, group + "/object", object_);
    write_moments(file, group + "/probe", probe_);
    side_.save(file, group);
  }

  void load(const Hdf5File& file, const std::string& group) override {
    object_ = read_moments(file, group + "/object");
    probe_ = read_moments(file, group + "/probe");
    side_.load(file, group);
  }

 private:
  /// The prior's slope, or 0 where the photons outweigh it.
  static double prior_of(const SolverProblem& problem, const SolverState& state) {
    const double slope = problem.options.object_slope;
    return smoothness_matters(slope, mean_light(problem, state)) ? slope : 0;
  }

  /// Every batch brings its share of the prior.
  static double share_of(const SolverProblem& problem, const at::Tensor& batch) {
    return static_cast<double>(batch.size(0)) / static_cast<double>(problem.patterns());
  }

  void step_probe(SolverState& state, const at::Tensor& slope, double share) {
    const double peak = state.probe[0].abs().max().item<double>();
    moment_step(state.probe, slope, probe_, share * peak);
  }

  Moments object_, probe_;
  SideSteps side_;
};

}  // namespace

std::unique_ptr<Solver> make_ml() { return std::make_unique<Ml>(); }

}  // namespace ptyche
