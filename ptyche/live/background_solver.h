// The solver beside a running scan: it works on what is there, begins the next round from its last
// image, and leaves the processor to the frames while there is nothing new.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "ptyche/live/board.h"
#include "ptyche/live/frames.h"
#include "ptyche/prepare/first_probe.h"
#include "ptyche/solve/solver.h"

namespace ptyche {

struct BackgroundOptions {
  ReadOptions read;
  ProbeChoice probe;
  SolverOptions first = {.chain = {{"rpie", 8}, {"lbfgs", 8}}};  ///< the first round
  SolverOptions next = {.chain = {{"lbfgs", 8}}};                ///< every other one
  std::uint64_t seed = 1;
  std::int64_t fewest_frames = 24;  ///< before the first round
  std::int64_t probe_frames = 100;  ///< before a probe is looked for, where none is known
  bool solve = true;                ///< false: it only looks for the probe and judges
};

class BackgroundSolver {
 public:
  BackgroundSolver(const BackgroundOptions& options, LiveBoard& board);
  /// Ends the round that is under way after its present pass.
  ~BackgroundSolver();
  BackgroundSolver(const BackgroundSolver&) = delete;
  BackgroundSolver& operator=(const BackgroundSolver&) = delete;

  /// The newest state of the scan; replaces one that was not taken yet.
  /// partial  these are not all patterns that have come
  void offer(const LiveFrames& frames, const LiveBasis& basis, double seconds,
             bool partial = false);
  /// Whether it has taken what was offered last.
  bool wants_more() const;
  /// A probe that it has found since the last call: (modes, N, N) complex64, sqrt(photon).
  std::optional<at::Tensor> found_probe();
  /// No round any more; waits for the one under way, which ends after its present pass.
  void finish();

 private:
  struct Offer {
    LiveFrames frames;
    LiveBasis basis;
    double seconds = 0;
    bool partial = false;
  };
  void work();
  void round(const Offer& offer);
  void judge(const Scan& scan);
  bool stopping() const;

  BackgroundOptions options_;
  LiveBoard& board_;
  mutable std::mutex mutex_;
  std::condition_variable offered_;
  std::optional<Offer> offer_;
  std::optional<at::Tensor> probe_;
  bool stop_ = false;
  std::optional<Reconstruction> last_;
  double last_deviance_ = std::numeric_limits<double>::quiet_NaN();
  std::pair<std::int64_t, std::int64_t> last_frames_ = {0, -1};  // how many, the last one's index
  int rounds_here_ = 0;                                          // with the same frames
  std::thread thread_;
};

}  // namespace ptyche
