// A chain of iterative solvers on one scan: progress, evaluations on held-out patterns,
// checkpoints.
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/solve/problem.h"
#include "ptyche/solve/solver.h"
#include "ptyche/storage/hdf5.h"

namespace ptyche {

/// What a chain has come to after some pass; the last two numbers are 0 without a hold-out.
struct Evaluation {
  std::int64_t epoch = 0;  ///< passes made by the whole chain
  double seconds = 0;      ///< that the chain has worked, also before it was resumed
  double loss_per_photon = 0;
  double held_out_r_factor = 0, held_out_deviance_per_photon = 0;
};

/// Who watches, and where the state is kept.
struct SolverWatch {
  /// Every `every` passes; throwing from it ends the chain.
  std::function<void(const Reconstruction&, const Evaluation&)> evaluated = {};
  /// Asked after every pass with the number of passes made: true ends the chain as Ctrl-C does.
  std::function<bool(std::int64_t)> stop = {};
  std::filesystem::path checkpoint = {};  ///< written every half minute and on Ctrl-C; empty = no
  bool resume = false;                    ///< go on from `checkpoint` if it is there
  bool keep_checkpoint = false;  ///< at the end: whoever writes the image removes it afterwards
  std::mutex* files = nullptr;   ///< held while the checkpoint is read or written, where chains run
                                 ///< side by side
};

enum class ChainEnd { done, interrupted, diverged };

/// image.loss is the mean over patterns and pixels per photon, one number a pass.
struct SolveResult {
  Reconstruction image;
  ChainEnd end = ChainEnd::done;
  std::vector<Evaluation> evaluations;
  double seconds_before = 0;  ///< that the run had taken before it was resumed
};

/// What two runs must share if one is to go on with what the other has kept.
struct RunKey {
  std::string scan, start;
  Key options;
};

RunKey run_key(const SolverProblem& problem, const std::optional<Reconstruction>& start);

/// As text attributes of `group`, which is there.
void write_key(Hdf5File& file, const std::string& group, const RunKey& key);

/// Throws InvalidInput that names all that differs from the key in `group`.
void require_same_run(const Hdf5File& file, const std::string& group, const RunKey& key);

/// What an earlier run has kept cannot be used: no reason to try another chain instead.
struct BadCheckpoint : InvalidInput {
  using InvalidInput::InvalidInput;
};

/// Runs the chain from `start`, or from a flat object and the scan's probe, on the used patterns.
/// New probe modes join after a tenth of the passes, at most 3. On its plateau a solver gives way
/// to the next link or skips half of the passes that are left (see Plateau). If the loss stops
/// being finite or rises to four times its least value, the chain ends with a warning and the best
/// state so far; after Ctrl-C with the last one, and its checkpoint, if that can be written (else a
/// warning). Resumed on the same number of threads it ends where the uninterrupted chain ends, bit
/// for bit. The checkpoint is removed at the end. Throws InvalidInput for options out of range, a
/// mask that hides everything, a solver that cannot take a scan that ranks share, a position whose
/// patch leaves the canvas, and where the first pass of all diverges and there is no start to fall
/// back on. Throws BadCheckpoint for one that is damaged or of another run (naming the options that
/// differ).
SolveResult solve(const Scan& scan, const std::optional<Reconstruction>& start,
                  const SolverOptions& options, const SolverWatch& watch = {});

}  // namespace ptyche
