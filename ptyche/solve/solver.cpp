#include "ptyche/solve/solver.h"

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/core/random.h"

namespace ptyche {

double Pass::step_factor(double last) const {
  const double progress =
      static_cast<double>(epoch) / static_cast<double>(std::max<std::int64_t>(epochs - 1, 1));
  return last + (1 - last) * 0.5 * (1 + std::cos(M_PI * progress));
}

const std::vector<SolverEntry>& solvers() {
  static const std::vector<SolverEntry> all{
      {"ml", "maximum likelihood by mini-batches: the best image", make_ml},
      {"lbfgs", "maximum likelihood by whole passes of L-BFGS: a last polish", make_lbfgs},
      {"lsqml", "least-squares maximum likelihood with optimal steps", make_lsqml},
      {"epie", "ePIE: pattern by pattern, the classic", make_epie},
      {"rpie", "rPIE: pattern by pattern, steps bounded where the probe is dim", make_rpie},
      {"dm", "difference map: far from the solution the surest, never at rest", make_dm},
      {"raar", "relaxed averaged alternating reflections: calmer than dm", make_raar}};
  return all;
}

std::unique_ptr<Solver> make_solver(const std::string& name) {
  std::vector<std::string> names;
  for (const SolverEntry& entry : solvers()) {
    if (entry.name == name) return entry.make();
    names.push_back(entry.name);
  }
  throw InvalidInput(
      fmt::format("solver: expected one of {}, found \"{}\"", fmt::join(names, ", "), name));
}

void require_solver(const std::string& name) { make_solver(name); }

std::vector<at::Tensor> shuffled_batches(const SolverProblem& problem, std::int64_t size,
                                         const Pass& pass) {
  const RandomStream stream(problem.options.seed, Purpose::solver_order,
                            static_cast<std::uint64_t>(pass.total));
  return at::tensor(permutation(problem.patterns(), stream), at::kLong).split(size);
}

}  // namespace ptyche
