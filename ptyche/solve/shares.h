// A scan whose patterns several ranks hold. Rank 0 runs the program and keeps image, probe and
// positions; whatever is a sum over patterns it asks of all ranks at once, each of which sees the
// window of the object that its own patterns touch. So every solver that follows gradients is the
// same on one rank and on many, and all that it changes is in one place.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "ptyche/core/ranks.h"
#include "ptyche/data/scan.h"
#include "ptyche/solve/problem.h"
#include "ptyche/solve/slow_phase.h"

namespace ptyche {

/// The patterns of a list that one rank holds.
struct RankPiece {
  std::size_t rank = 0;
  at::Tensor where;  ///< in the list
  at::Tensor rows;   ///< of the rank's part
};

struct CountsPart;
enum class Question : std::int64_t;
RankMessage answer(CountsPart& part, const RankMessage& question);
/// What a rank does when it is asked: the answer to a question, an empty one where none is waited
/// for. Throws where it cannot.
using RankWork = std::function<RankMessage(CountsPart&, const RankMessage&)>;

class Shares final : public SharedCounts {
 public:
  /// Asks each rank its question, none where that is empty, all at the same time: the answers. What
  /// rank 0 itself is asked the work answers.
  using Ask =
      std::function<std::vector<RankMessage>(const std::vector<RankMessage>&, const RankWork&)>;

  /// owner  (n) int64, the rank that holds each pattern; its patterns are in its part in their
  /// order
  Shares(const at::Tensor& owner, Ask ask);

  at::Tensor rows(const at::Tensor& frames) const override;
  at::Tensor sums() const override;
  at::Tensor sum_over(const at::Tensor& frames, double power) const override;
  std::int64_t processes() const override { return processes_; }
  std::shared_ptr<const SharedCounts> changed(const CountsChange& change) const override;

  /// Counts of each frame in the mask's pixels, (k) float64.
  at::Tensor totals(const at::Tensor& frames, const at::Tensor& mask) const;
  /// As the functions of the same names for counts in one process, but for rounding. They throw
  /// RankFailure naming a rank that could not.
  SolverGradient gradient(const SolverProblem& problem, const SolverState& state,
                          const at::Tensor& batch, const GradientOptions& options) const;
  Sight sights(const SolverProblem& problem, const SolverState& state, const PhaseNodes& nodes,
               const GradientOptions& options) const;

  /// Of frames (k) int64, those of each rank that has some.
  std::vector<RankPiece> pieces_of(const at::Tensor& frames) const;
  /// Asks each rank its question, by rank, none where that is empty. Throws RankFailure.
  std::vector<RankMessage> ask(const std::vector<RankMessage>& questions,
                               const RankWork& work = answer) const;

 private:
  at::Tensor owner_, row_;
  std::int64_t processes_;
  Ask ask_;
  mutable std::mutex one_at_a_time_;
};

struct ShareOptions {
  std::int64_t threads = 0;  ///< of each rank, 0 = its own choice
  double memory_bytes = 0;   ///< that each may use, 0 = its own choice
};

/// On rank 0, before any other question: how each of the other ranks is to work.
void settle_ranks(const ShareOptions& options);

/// On rank 0: the scan with its patterns given to the ranks, of which each keeps its part; as it is
/// where there is one rank, and where they have read their parts themselves (read_by_ranks.h).
Scan shared_by_ranks(const Scan& scan);

/// On rank 0: the scan of these fields, whose counts the ranks hold, rank 0's own in `own`.
///   owner  (n) int64, the rank that holds each pattern
Scan scan_of_parts(ScanFields fields, const at::Tensor& owner, std::shared_ptr<CountsPart> own);

/// On every other rank: answers rank 0 until the end of the work, with `others` what later stages
/// are asked. What goes wrong is an answer, too.
void serve_rank_0(const std::map<Question, RankWork>& others);

/// Those of the scan; nothing where its counts are in this process.
std::shared_ptr<const Shares> shares_of(const Scan& scan);

}  // namespace ptyche
