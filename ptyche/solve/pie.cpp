#include "ptyche/solve/pie.h"

#include <algorithm>
#include <span>

#include "ptyche/core/random.h"
#include "ptyche/solve/side_steps.h"

namespace ptyche {
namespace {

// Patterns between two steps of momentum: whole batches, about the hundred of the paper.
constexpr std::size_t kMomentumPatterns = 12 * kPieBatch;

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

class PieSolver : public Solver {
 public:
  explicit PieSolver(const cpu::PieOptions& options) : options_(options) {}

  double pass(const SolverProblem& problem, SolverState& state, const Pass& pass) override {
    cpu::PieOptions options = options_;
    const double factor = pass.step_factor(problem.options.last_step);
    options.object_step *= factor;
    options.probe_step *= problem.options.fixed_probe ? 0 : factor;
    const auto order = order_of(problem.patterns(), problem.options.seed, pass.total);
    const double momentum = problem.options.momentum.value_or(0);
    const std::size_t most = momentum > 0 ? kMomentumPatterns : order.size();
    double misfit = 0;
    for (std::size_t first = 0; first < order.size(); first += most)
      misfit += sweep(problem, state,
                      std::span(order).subspan(first).first(std::min(most, order.size() - first)),
                      options, momentum);
    constrain(problem, state);
    side_.after_projections(problem, state, pass);
    return misfit;
  }

  AtPlateau at_plateau() const override { return AtPlateau::steps_fall; }

  void save(Hdf5File& file, const std::string& group) const override {
    side_.save(file, group);
    if (object_velocity_.defined()) file.write(group + "/object_velocity", object_velocity_);
    if (probe_velocity_.defined()) file.write(group + "/probe_velocity", probe_velocity_);
  }
  void load(const Hdf5File& file, const std::string& group) override {
    side_.load(file, group);
    if (file.has(group + "/object_velocity"))
      object_velocity_ = file.read(group + "/object_velocity").values;
    if (file.has(group + "/probe_velocity"))
      probe_velocity_ = file.read(group + "/probe_velocity").values;
  }

 private:
  double sweep(const SolverProblem& problem, SolverState& state,
               std::span<const std::int64_t> patterns, const cpu::PieOptions& options,
               double momentum) {
    const SolverState before = state;
    const double misfit = cpu::pie_sweep(projection_.enter(problem, state), patterns, options);
    projection_.leave(state);
    if (momentum == 0) return misfit;
    carry_on(state.object, before.object, object_velocity_, momentum);
    if (options.probe_step > 0) carry_on(state.probe, before.probe, probe_velocity_, momentum);
    return misfit;
  }

  cpu::PieOptions options_;
  Projection projection_{false, kPieBatch};
  SideSteps side_;
  at::Tensor object_velocity_, probe_velocity_;
};

}  // namespace

double pie_pass(cpu::ProjectionMemory<float>& memory, const cpu::PieOptions& options,
                std::uint64_t seed, std::int64_t pass) {
  return cpu::pie_sweep(
      memory, order_of(static_cast<std::int64_t>(memory.places.size()), seed, pass), options);
}

std::unique_ptr<Solver> make_pie(const cpu::PieOptions& options) {
  return std::make_unique<PieSolver>(options);
}

}  // namespace ptyche
