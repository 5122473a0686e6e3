// Pattern by pattern: ePIE (Maiden & Rodenburg, Ultramicroscopy 109, 1256 (2009), eqs. 5 and 6),
// and rPIE (Maiden, Johnson & Li, Optica 4, 736 (2017), eqs. 9 and 13), whose denominators are the
// mean of the local and the largest power, with momentum (the same, sec. 2C: mPIE). The updates of
// some patterns are merged (engine/projections.h), so that threads can share the work.
#include <algorithm>
#include <span>

#include "ptyche/core/random.h"
#include "ptyche/solve/auxiliary_updates.h"
#include "ptyche/solve/projection_kernels.h"
#include "ptyche/solve/slow_waves.h"
#include "ptyche/storage/layout.h"

namespace ptyche {
namespace {

// Patterns between two steps of momentum: whole batches, about the hundred of the paper.
constexpr std::size_t kMomentumPatterns = 12 * cpu::kPieBatch;

std::vector<std::int64_t> order_of(std::int64_t patterns, std::uint64_t seed, std::int64_t pass) {
  return permutation(patterns,
                     RandomStream(seed, Purpose::solver_order, static_cast<std::uint64_t>(pass)));
}

/// velocity <- momentum velocity + (value - before); value <- value + momentum velocity: Maiden,
/// Johnson & Li, Optica 4, 736 (2017), sec. 2C.
void carry_on(at::Tensor& value, const at::Tensor& before, at::Tensor& velocity, double momentum) {
  const at::Tensor change = value - before;
  const bool known = velocity.defined() && velocity.sizes() == value.sizes();
  velocity = known ? change + momentum * velocity : change;
  value = value + momentum * velocity;
}

struct PieSolverOptions {
  cpu::PieOptions steps;
  double momentum = 0;         ///< 0..0.99
  double plateau = 0;          ///< 0..1; 0 = all passes are made
  double slow_momentum = 0.5;  ///< see SlowMomentum
  BatchOptions batches = {};
};

std::vector<Field> fields(PieSolverOptions& o, const SolverOptions& common) {
  const auto of_paper = [](const char* name, double& target, const char* help) {
    return Field{.name = name, .target = &target, .help = help, .range = {0, 1}, .internal = true};
  };
  return joined({{momentum_field(o.momentum), slow_momentum_field(o.slow_momentum),
                  plateau_field(o.plateau, /*skips_passes=*/true),
                  of_paper("object-beta", o.steps.object_step, "step of the object"),
                  of_paper("object-alpha", o.steps.object_regularisation,
                           "share of the largest power in the object's denominator"),
                  of_paper("probe-beta", o.steps.probe_step, "step of the probe"),
                  of_paper("probe-alpha", o.steps.probe_regularisation,
                           "share of the largest power in the probe's denominator")},
                 auxiliary_fields(o.batches, common)});
}

class PieSolver : public Solver {
 public:
  using Options = PieSolverOptions;
  explicit PieSolver(const Options& options)
      : options_(options), auxiliary_(options.batches), slow_(options.slow_momentum) {}

  double pass(const SolverProblem& problem, SolverState& state, const Pass& pass) override {
    cpu::PieOptions options = options_.steps;
    const double factor = pass.step_factor(problem.options.last_step);
    options.object_step *= factor;
    options.probe_step *= problem.options.fixed_probe ? 0 : factor;
    const auto order = order_of(problem.patterns(), problem.options.seed, pass.total);
    const double momentum = options_.momentum;
    const std::size_t most = momentum > 0 ? kMomentumPatterns : order.size();
    double misfit = 0;
    slow_.before_pass(state);
    for (std::size_t first = 0; first < order.size(); first += most)
      misfit += sweep(problem, state,
                      std::span(order).subspan(first).first(std::min(most, order.size() - first)),
                      options, momentum);
    constrain(problem, state);
    auxiliary_.after_projections(problem, state, pass);
    slow_.after_pass(state);
    return misfit;
  }

  Plateau plateau() const override { return {options_.plateau, /*skips_passes=*/true}; }
  GradientOptions gradient_options() const override { return options_.batches.gradient; }

  void save(Hdf5File& file, const std::string& group) const override {
    auxiliary_.save(file, group);
    slow_.save(file, group);
    if (object_velocity_.defined())
      write(file, like(object_velocity_, group + "/object_velocity"), object_velocity_);
    if (probe_velocity_.defined())
      write(file, like(probe_velocity_, group + "/probe_velocity"), probe_velocity_);
  }
  void load(const Hdf5File& file, const std::string& group, const SolverState& state) override {
    auxiliary_.load(file, group, state);
    slow_.load(file, group, state);
    object_velocity_ = read_if_there(file, like(state.object, group + "/object_velocity"));
    probe_velocity_ = read_if_there(file, like(state.probe, group + "/probe_velocity"));
  }

 private:
  double sweep(const SolverProblem& problem, SolverState& state,
               std::span<const std::int64_t> patterns, const cpu::PieOptions& options,
               double momentum) {
    const SolverState before = state;
    kernels_.load(problem, state);
    const double misfit = kernels_.pie_sweep(patterns, options);
    kernels_.store(state);
    if (momentum == 0) return misfit;
    carry_on(state.object, before.object, object_velocity_, momentum);
    if (options.probe_step > 0) carry_on(state.probe, before.probe, probe_velocity_, momentum);
    return misfit;
  }

  Options options_;
  ProjectionKernels kernels_{false, cpu::kPieBatch};
  AuxiliaryUpdates auxiliary_;
  SlowMomentum slow_;
  at::Tensor object_velocity_, probe_velocity_;
};

}  // namespace

/// Both denominators are the largest power alone.
SolverEntry epie_solver() {
  return describe_solver<PieSolver>("epie", "ePIE: pattern by pattern, the classic",
                                    {.steps = {.object_step = 1,
                                               .object_regularisation = 1,
                                               .probe_step = 0.2,
                                               .probe_regularisation = 1}});
}

SolverEntry rpie_solver() {
  return describe_solver<PieSolver>(
      "rpie", "rPIE: pattern by pattern, steps bounded where the probe is dim",
      {.steps = {.object_step = 1,
                 .object_regularisation = 0.3,
                 .probe_step = 0.2,
                 .probe_regularisation = 1}});
}

}  // namespace ptyche
