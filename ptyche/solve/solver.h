// What every iterative solver is: a way to make one pass over the patterns. One file per solver.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ptyche/io/hdf5.h"
#include "ptyche/solve/solver_problem.h"

namespace ptyche {

/// Where a pass stands in its link of the chain.
struct Pass {
  std::int64_t epoch = 0, epochs = 1;  ///< 0..epochs-1 of this link
  std::int64_t total = 0;              ///< passes made by the whole chain before this one

  /// From 1 in the link's first epoch to `last` in its final one, along half a cosine.
  double step_factor(double last) const;
};

/// What a plateau of the loss means to a solver.
enum class AtPlateau {
  ends,        ///< it has come to rest
  steps_fall,  ///< shorter steps are due: its steps shrink on a schedule
  goes_on,     ///< nothing: its loss rises and falls on the way
};

class Solver {
 public:
  virtual ~Solver() = default;
  /// One pass over all used patterns, changing `state`; arrays of the state may have got another
  /// shape since the last one (probe modes). Returns the loss summed over patterns, each taken
  /// when the pass came to it.
  virtual double pass(const SolverProblem& problem, SolverState& state, const Pass& pass) = 0;

  virtual AtPlateau at_plateau() const { return AtPlateau::ends; }

  /// What the next pass needs beside the state, under `group` of a checkpoint.
  virtual void save(Hdf5File& file, const std::string& group) const = 0;
  virtual void load(const Hdf5File& file, const std::string& group) = 0;
};

/// All solvers that exist, by the name that a chain gives them.
struct SolverEntry {
  std::string name, summary;
  /// Which of the options that not every solver looks at it does, by their names at the command
  /// line; ignored_options is made from it.
  std::vector<std::string> knows;
  std::unique_ptr<Solver> (*make)();
};
const std::vector<SolverEntry>& solvers();

/// Throws InvalidInput listing the solvers that exist.
std::unique_ptr<Solver> make_solver(const std::string& name);
void require_solver(const std::string& name);

/// "dm, raar: --batch, --object-step": which options differ from their defaults although solvers of
/// the chain do not look at them; one text per solver. The likelihood, the engine and the batch
/// count in every solver where positions or a background are refined.
std::vector<std::string> ignored_options(const SolverOptions& options);

/// The used patterns in random order, in batches of at most `size`: each (k) int64.
std::vector<at::Tensor> shuffled_batches(const SolverProblem& problem, std::int64_t size,
                                         const Pass& pass);

// One per file.
std::unique_ptr<Solver> make_ml();
std::unique_ptr<Solver> make_lbfgs();
std::unique_ptr<Solver> make_lsqml();
std::unique_ptr<Solver> make_epie();
std::unique_ptr<Solver> make_rpie();
std::unique_ptr<Solver> make_dm();
std::unique_ptr<Solver> make_raar();

}  // namespace ptyche
