// Maximum likelihood by mini-batches (Odstrcil et al., Opt. Express 26, 3108 (2018), sec. 2, name
// the likelihoods; Kingma & Ba 2015 the steps). The noise of the batches carries the image past
// the false minima in which whole passes get stuck when they start from a flat object.
#include <memory>

#include "ptyche/solve/adam.h"
#include "ptyche/solve/auxiliary_updates.h"
#include "ptyche/solve/illumination.h"
#include "ptyche/solve/slow_waves.h"

namespace ptyche {
namespace {

struct MlOptions {
  BatchOptions batches = {};
  double object_step = 0.05;  ///< in units of |O| = 1, > 0
  double probe_step = 0.1;    ///< in shares of the probe's peak, > 0
  double object_slope = 0.1;  ///< see add_smoothness; 0 = no prior
  /// 0..1; 0 = all passes are made: loss that hardly falls at long steps still sharpens the image
  /// (Siemens star, 100 passes: .707 of the spokes' modulation, .698 cut short at 1e-5).
  double plateau = 0;
  double slow_momentum = 0.8;  ///< see SlowMomentum
};

std::vector<Field> fields(MlOptions& o, const SolverOptions& common) {
  return joined(
      {fields(o.batches, common, "patterns per gradient step: 16, in large scans a 64th of all"),
       {{.name = "object-step",
         .target = &o.object_step,
         .unit = "|object|",
         .help = "step size of the object",
         .range = {1e-9}},
        {.name = "probe-step",
         .target = &o.probe_step,
         .unit = "probe peak",
         .help = "step size of the probe",
         .range = {1e-9}},
        object_slope_field(o.object_slope),
        plateau_field(o.plateau, /*skips_passes=*/true),
        slow_momentum_field(o.slow_momentum)}});
}

class Ml : public Solver {
 public:
  using Options = MlOptions;
  explicit Ml(const Options& options)
      : options_(options), auxiliary_(options.batches), slow_(options.slow_momentum) {}

  double pass(const SolverProblem& problem, SolverState& state, const Pass& pass) override {
    const SolverOptions& common = problem.options;
    const double factor = pass.step_factor(common.last_step);
    // The first pass finds an object for the probe that was given.
    const bool move_probe = !common.fixed_probe && pass.total > 0;
    const double slope_prior = prior_of(problem, state);
    double loss = 0;
    slow_.before_pass(state);
    const std::int64_t size = batch_of(options_.batches, problem, kStepsPerPass);
    for (const at::Tensor& batch : shuffled_batches(problem, size, pass)) {
      SolverGradient slope = gradient(problem, state, batch, options_.batches.gradient);
      loss += slope.loss;
      if (slope_prior > 0)
        add_smoothness(state.object, {.slope = slope_prior}, share_of(problem, batch),
                       slope.object);
      adam_step(state.object, slope.object, object_, options_.object_step * factor);
      if (move_probe) step_probe(state, slope.probe, options_.probe_step * factor);
      auxiliary_.after_batch(problem, state, batch, slope, pass.total > 0 ? factor : 0);
      constrain(problem, state);
    }
    auxiliary_.after_pass(problem, state, pass, factor);
    slow_.after_pass(state);
    return loss;
  }

  Plateau plateau() const override { return {options_.plateau, /*skips_passes=*/true}; }
  GradientOptions gradient_options() const override { return options_.batches.gradient; }

  void save(Hdf5File& file, const std::string& group) const override {
    write_adam(file, group + "/object", object_);
    write_adam(file, group + "/probe", probe_);
    auxiliary_.save(file, group);
    slow_.save(file, group);
  }

  void load(const Hdf5File& file, const std::string& group, const SolverState& state) override {
    object_ = read_adam(file, group + "/object", state.object);
    probe_ = read_adam(file, group + "/probe", state.probe);
    auxiliary_.load(file, group, state);
    slow_.load(file, group, state);
  }

 private:
  /// The prior's slope, or 0 where the photons outweigh it.
  double prior_of(const SolverProblem& problem, const SolverState& state) const {
    const double slope = options_.object_slope;
    return smoothness_matters(slope, mean_light(problem, state)) ? slope : 0;
  }

  /// Every batch brings its share of the prior.
  static double share_of(const SolverProblem& problem, const at::Tensor& batch) {
    return static_cast<double>(batch.size(0)) / static_cast<double>(problem.patterns());
  }

  void step_probe(SolverState& state, const at::Tensor& slope, double share) {
    const double peak = state.probe[0].abs().max().item<double>();
    adam_step(state.probe, slope, probe_, share * peak);
  }

  Options options_;
  ComplexAdam object_, probe_;
  AuxiliaryUpdates auxiliary_;
  SlowMomentum slow_;
};

}  // namespace

SolverEntry ml_solver() {
  return describe_solver<Ml>("ml", "maximum likelihood by mini-batches: the best image");
}

}  // namespace ptyche
