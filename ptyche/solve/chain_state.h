// Everything that changes while a chain runs, and its checkpoint file.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/solve/solve.h"
#include "ptyche/solve/solver.h"

namespace ptyche {

/// link, epoch  what comes next: a link of the chain and its pass
/// total        passes made so far
/// stretch      passes of the link since its schedule was last shortened
/// losses       per photon, of every pass
/// looks        all that were taken, also before a resumption
/// seconds      spent before `state` was written to a checkpoint
/// best         the state before the pass with the least loss, `best_loss` per photon; starts anew
///              with every link, since solvers judge by different losses
struct ChainState {
  SolverState state, best;
  std::unique_ptr<Solver> solver;
  std::size_t link = 0;
  std::int64_t epoch = 0, total = 0, stretch = 0;
  std::vector<double> losses;
  std::vector<SolverLook> looks;
  double seconds = 0;
  double best_loss = 0;
  bool has_best = false;
};

/// A text that two runs share only if one may go on with the other's checkpoint.
std::string chain_key(const SolverProblem& problem, const std::optional<Reconstruction>& start);

/// Writes / reads the whole state. Reading throws InvalidInput if the key is another one.
void write_chain(const std::filesystem::path& file, const ChainState& chain,
                 const std::string& key);
ChainState read_chain(const std::filesystem::path& file, const SolverProblem& problem,
                      const std::string& key);

}  // namespace ptyche
