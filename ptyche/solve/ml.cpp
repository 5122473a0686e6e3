// Maximum likelihood by mini-batches (Odstrcil et al., Opt. Express 26, 3108 (2018), sec. 2, name
// the likelihoods; Kingma & Ba 2015 the steps). The noise of the batches carries the image past
// the false minima in which whole passes get stuck when they start from a flat object.
#include <memory>

#include "ptyche/core/ranks.h"
#include "ptyche/solve/illumination.h"
#include "ptyche/solve/ml_steps.h"
#include "ptyche/solve/shared_ml.h"
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
      : options_(options),
        memory_{.auxiliary = AuxiliaryUpdates(options.batches)},
        slow_(options.slow_momentum) {}

  double pass(const SolverProblem& problem, SolverState& state, const Pass& pass) override {
    const double factor = pass.step_factor(problem.options.last_step);
    slow_.before_pass(state);
    const MlPass steps = steps_of(problem, state, pass, factor);
    const std::vector<MlBatch> batches = batches_of(problem, pass);
    const bool together = problem.shares && ranks().several();
    const double loss = together ? ml_steps_by_ranks(problem, state, batches, steps, memory_)
                                 : ml_steps(problem, state, batches, steps, memory_);
    memory_.auxiliary.after_pass(problem, state, pass, factor);
    slow_.after_pass(state);
    return loss;
  }

  Plateau plateau() const override { return {options_.plateau, /*skips_passes=*/true}; }
  GradientOptions gradient_options() const override { return options_.batches.gradient; }

  void save(Hdf5File& file, const std::string& group) const override {
    write_adam(file, group + "/object", memory_.object);
    write_adam(file, group + "/probe", memory_.probe);
    memory_.auxiliary.save(file, group);
    slow_.save(file, group);
  }

  void load(const Hdf5File& file, const std::string& group, const SolverState& state) override {
    memory_.object = read_adam(file, group + "/object", state.object);
    memory_.probe = read_adam(file, group + "/probe", state.probe);
    memory_.auxiliary.load(file, group, state);
    slow_.load(file, group, state);
  }

 private:
  MlPass steps_of(const SolverProblem& problem, const SolverState& state, const Pass& pass,
                  double factor) const {
    // The first pass finds an object for the probe that was given.
    const bool first = pass.total == 0;
    return {.object_step = options_.object_step * factor,
            .probe_step = first || problem.options.fixed_probe ? 0 : options_.probe_step * factor,
            .slope_prior = prior_of(problem, state),
            .auxiliary = first ? 0 : factor,
            .gradient = options_.batches.gradient};
  }

  /// Every batch brings its share of the prior.
  std::vector<MlBatch> batches_of(const SolverProblem& problem, const Pass& pass) const {
    const std::int64_t size = batch_of(options_.batches, problem, kStepsPerPass);
    const auto all = static_cast<double>(problem.patterns());
    std::vector<MlBatch> batches;
    for (const at::Tensor& patterns : shuffled_batches(problem, size, pass))
      batches.push_back({patterns, static_cast<double>(patterns.size(0)) / all});
    return batches;
  }

  /// The prior's slope, or 0 where the photons outweigh it.
  double prior_of(const SolverProblem& problem, const SolverState& state) const {
    const double slope = options_.object_slope;
    return smoothness_matters(slope, mean_light(problem, state)) ? slope : 0;
  }

  Options options_;
  MlMemory memory_;
  SlowMomentum slow_;
};

}  // namespace

SolverEntry ml_solver() {
  return describe_solver<Ml>("ml", "maximum likelihood by mini-batches: the best image");
}

}  // namespace ptyche
