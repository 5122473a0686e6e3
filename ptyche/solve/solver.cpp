#include "ptyche/solve/solver.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/random.h"

namespace ptyche {
namespace {

/// Of the options that not every solver looks at, those that differ from their defaults.
std::vector<std::string> changed_options(const SolverOptions& options) {
  const SolverOptions plain;
  const std::vector<std::pair<const char*, bool>> all{
      {"likelihood", options.likelihood.has_value()},
      {"engine", options.engine != plain.engine},
      {"batch", options.batch != plain.batch},
      {"object-step", options.object_step != plain.object_step},
      {"probe-step", options.probe_step != plain.probe_step},
      {"momentum", options.momentum.has_value()},
      {"object-slope", options.object_slope != plain.object_slope},
      {"position-step", options.position_step != plain.position_step},
      {"plateau", options.plateau != plain.plateau && options.plateau > 0}};
  std::vector<std::string> changed;
  for (const auto& [name, differs] : all)
    if (differs) changed.push_back(name);
  return changed;
}

/// Whether the solver looks at the option, itself or in its side steps.
bool counts(const std::string& name, const SolverEntry& solver, const SolverOptions& options) {
  const auto is_in = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  // lbfgs moves positions and background with all the rest, by whole passes.
  const bool steps_aside =
      solver.name != "lbfgs" && (options.background || options.positions != PositionFreedom::none);
  return is_in(solver.knows) || (steps_aside && is_in({"likelihood", "engine", "batch"}));
}

}  // namespace

double Pass::step_factor(double last) const {
  const double progress =
      static_cast<double>(epoch) / static_cast<double>(std::max<std::int64_t>(epochs - 1, 1));
  return last + (1 - last) * 0.5 * (1 + std::cos(M_PI * progress));
}

const std::vector<SolverEntry>& solvers() {
  static const std::vector<SolverEntry> all{
      {"ml",
       "maximum likelihood by mini-batches: the best image",
       {"likelihood", "engine", "batch", "object-step", "probe-step", "object-slope",
        "position-step", "plateau"},
       make_ml},
      {"lbfgs",
       "maximum likelihood by whole passes of L-BFGS: a last polish",
       {"likelihood", "engine", "object-slope", "plateau"},
       make_lbfgs},
      {"lsqml",
       "least-squares maximum likelihood with optimal steps",
       {"likelihood", "engine", "batch", "momentum", "position-step", "plateau"},
       make_lsqml},
      {"epie",
       "ePIE: pattern by pattern, the classic",
       {"momentum", "position-step", "plateau"},
       make_epie},
      {"rpie",
       "rPIE: pattern by pattern, steps bounded where the probe is dim",
       {"momentum", "position-step", "plateau"},
       make_rpie},
      {"dm",
       "difference map: far from the solution the surest, never at rest",
       {"position-step"},
       make_dm},
      {"raar",
       "relaxed averaged alternating reflections: calmer than dm",
       {"position-step"},
       make_raar}};
  return all;
}

std::vector<std::string> ignored_options(const SolverOptions& options) {
  std::vector<std::string> texts;
  for (const SolverEntry& solver : solvers()) {
    const bool runs =
        std::any_of(options.chain.begin(), options.chain.end(),
                    [&](const ChainLink& link) { return link.solver == solver.name; });
    std::vector<std::string> ignored;
    for (const std::string& name : changed_options(options))
      if (runs && !counts(name, solver, options)) ignored.push_back("--" + name);
    if (!ignored.empty())
      texts.push_back(fmt::format("{}: {}", solver.name, fmt::join(ignored, ", ")));
  }
  return texts;
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
