// The projection solvers where several ranks hold the counts. Each rank keeps amplitudes, and exit
// waves, of its own patterns and works on the window of the object that these touch; rank 0 keeps
// object and probe and brings together what comes back.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ptyche/core/ranks.h"
#include "ptyche/engine/projections.h"
#include "ptyche/solve/problem.h"
#include "ptyche/solve/shares.h"

namespace ptyche {

struct CountsPart;
enum class Question : std::int64_t;

/// What the waves of some patterns ask of the object (rows, cols), or of the probe (modes, N, N)
/// with `power` (N, N): see cpu::overlap_waves.
struct OverlapSums {
  at::Tensor change, power;
  double misfit = 0;
};

/// Exit waves (n, numbers) float32 in the engine's layout and their misfit (n) float64.
struct KeptWaves {
  at::Tensor waves, misfit;
};

/// Rank 0's side: what ProjectionKernels does, by asking the ranks.
class SharedProjections {
 public:
  SharedProjections(bool keep_waves, std::int64_t batch) : keep_waves_(keep_waves), batch_(batch) {}
  /// The ranks' memory of it is free then.
  ~SharedProjections();
  SharedProjections(const SharedProjections&) = delete;
  SharedProjections& operator=(const SharedProjections&) = delete;

  /// Returns whether the ranks begin anew: the first time, and where an array has another shape.
  bool load(const SolverProblem& problem, const SolverState& state);

  /// cpu::pie_sweep, each rank going through its own patterns of `order` with an object and a probe
  /// of its own. Some times in between, at most kMergesPerSweep, these are made one: a pixel that
  /// several ranks have moved takes the mean of what they did, by the light that each has put on
  /// it; the probe the mean by the number of patterns.
  double pie_sweep(std::span<const std::int64_t> order, const cpu::PieOptions& options);

  /// cpu::difference_map_sweep, but for rounding.
  double difference_map_sweep(const cpu::DifferenceMapOptions& options);

  void store(SolverState& state) const;
  std::int64_t wave_numbers() const;
  KeptWaves kept_waves() const;
  void put_waves(const KeptWaves& kept) const;

 private:
  std::vector<RankMessage> ask_all(Question question, const at::Tensor& numbers) const;
  double merged_sweep(const std::vector<at::Tensor>& orders, const cpu::PieOptions& options);

  bool keep_waves_;
  std::int64_t batch_;
  std::optional<SolverProblem> problem_;
  SolverState state_;
  std::vector<RankPiece> pieces_;
  std::vector<ObjectWindow> windows_;
  std::vector<std::int64_t> piece_of_, row_of_;  // of each used pattern
};

/// A rank's answer to a question of these.
RankMessage answer_projections(CountsPart& part, const RankMessage& question);

}  // namespace ptyche
