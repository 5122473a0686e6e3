// A scan whose patterns several ranks hold. Rank 0 runs the program and keeps image, probe and
// positions; whatever is a sum over patterns it asks of all ranks at once, each of which sees the
// window of the object that its own patterns touch. So every solver that follows gradients is the
// same on one rank and on many, and all that it changes is in one place.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "ptyche/core/ranks.h"
#include "ptyche/data/scan.h"
#include "ptyche/solve/problem.h"
#include "ptyche/solve/slow_phase.h"

namespace ptyche {

/// Which of `parts` each pattern belongs to, (n) int64: the scan is cut across its longer side into
/// parts of about as many used patterns, and these again, so that the parts are compact.
///   positions  (n, 2) float64
///   used       (n) bool
at::Tensor parts_along(const at::Tensor& positions, const at::Tensor& used, std::int64_t parts);

class Shares final : public SharedCounts {
 public:
  /// Asks each rank its question, none where that is empty, all at the same time: the answers.
  using Ask = std::function<std::vector<RankMessage>(const std::vector<RankMessage>&)>;

  /// owner  (n) int64, the rank that holds each pattern; its patterns are in its part in their
  /// order
  Shares(const at::Tensor& owner, Ask ask);

  at::Tensor rows(const at::Tensor& frames) const override;
  at::Tensor sums() const override;
  at::Tensor sum_over(const at::Tensor& frames, double power) const override;
  std::int64_t processes() const override { return processes_; }

  /// Counts of each frame in the mask's pixels, (k) float64.
  at::Tensor totals(const at::Tensor& frames, const at::Tensor& mask) const;
  /// As the functions of the same names for counts in one process, but for rounding. They throw
  /// RankFailure naming a rank that could not.
  SolverGradient gradient(const SolverProblem& problem, const SolverState& state,
                          const at::Tensor& batch, const GradientOptions& options) const;
  Sight sights(const SolverProblem& problem, const SolverState& state,
               const PhaseNodes& nodes) const;

 private:
  struct Piece;
  std::vector<Piece> pieces_of(const at::Tensor& frames) const;
  std::vector<RankMessage> ask(const std::vector<RankMessage>& questions) const;

  at::Tensor owner_, row_;
  std::int64_t processes_;
  Ask ask_;
  mutable std::mutex one_at_a_time_;
};

struct ShareOptions {
  std::int64_t threads = 0;  ///< of each rank, 0 = its own choice
  double memory_bytes = 0;   ///< that each may use, 0 = its own choice
};

/// On rank 0: the scan with its patterns given to the ranks, of which each keeps its part; as it is
/// where there is one rank.
Scan shared_by_ranks(const Scan& scan, const ShareOptions& options);

/// On every other rank: answers rank 0 until the end of the work. What goes wrong is an answer,
/// too.
void serve_rank_0();

/// Those of the scan; nothing where its counts are in this process.
std::shared_ptr<const Shares> shares_of(const Scan& scan);

}  // namespace ptyche
