#include "ptyche/solve/pie.h"

#include "ptyche/core/random.h"
#include "ptyche/solve/side_steps.h"

namespace ptyche {
namespace {

class PieSolver : public Solver {
 public:
  explicit PieSolver(const cpu::PieOptions& options) : options_(options) {}

  double pass(const SolverProblem& problem, SolverState& state, const Pass& pass) override {
    cpu::PieOptions options = options_;
    const double factor = pass.step_factor(problem.options.last_step);
    options.object_step *= factor;
    options.probe_step *= problem.options.fixed_probe ? 0 : factor;
    const double misfit =
        pie_pass(projection_.enter(problem, state), options, problem.options.seed, pass.total);
    projection_.leave(state);
    constrain(problem, state);
    side_.after_projections(problem, state, pass);
    return misfit;
  }

  bool rests_on_plateau() const override { return false; }

  void save(Hdf5File& file, const std::string& group) const override { side_.save(file, group); }
  void load(const Hdf5File& file, const std::string& group) override { side_.load(file, group); }

 private:
  cpu::PieOptions options_;
  Projection projection_{false, kPieBatch};
  SideSteps side_;
};

}  // namespace

double pie_pass(cpu::ProjectionMemory<float>& memory, const cpu::PieOptions& options,
                std::uint64_t seed, std::int64_t pass) {
  const std::vector<std::int64_t> order =
      permutation(static_cast<std::int64_t>(memory.places.size()),
                  RandomStream(seed, Purpose::solver_order, static_cast<std::uint64_t>(pass)));
  return cpu::pie_sweep(memory, order, options);
}

std::unique_ptr<Solver> make_pie(const cpu::PieOptions& options) {
  return std::make_unique<PieSolver>(options);
}

}  // namespace ptyche
