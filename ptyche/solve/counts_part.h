// The patterns that one rank holds, and what it is asked about them. A rank keeps counts and
// nothing else: image, probe and positions come with each question, cut to what its patterns see.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "ptyche/core/ranks.h"
#include "ptyche/solve/problem.h"
#include "ptyche/solve/slow_phase.h"

namespace ptyche {

class ProjectionKernels;

/// k patterns; those of a question are named by their rows 0..k-1.
struct CountsPart {
  at::Tensor counts;         ///< (k, N, N) while they come in; then in `scan`
  std::optional<Scan> scan;  ///< without positions, probe and use of its own
  /// What a solver by projections keeps from pass to pass.
  std::shared_ptr<ProjectionKernels> kernels = {};
};

/// A scan whose positions and probe stand in for those that come with the questions.
Scan scan_of_counts(at::Tensor counts);

/// What is asked of a rank. Each is a function below, on either side of the way between them;
/// `read` is read_by_ranks.h's, those from `pie` on are shared_projections.h's, `ml_steps` is
/// shared_ml.h's,
/// `infer` and `train` those of their stages (RankWork).
enum class Question : std::int64_t {
  settle,
  read,
  take,
  change,
  type,
  rows,
  sums,
  totals,
  sum_over,
  gradient,
  sights,
  pie,
  overlap,
  probe_sums,
  kept_waves,
  put_waves,
  forget_waves,
  ml_steps,
  infer,
  train
};

// Questions, each about one rank's patterns. `rows` (m) int64.

/// threads of the rank, 0 = as it is; memory_bytes as in MemoryOptions.
RankMessage ask_to_settle(std::int64_t threads, double memory_bytes);

struct TakenPiece {
  at::Tensor counts;                ///< (m, N, N), a part of what the rank is to hold
  std::int64_t first = 0, all = 0;  ///< where they stand among all of its patterns
};
RankMessage ask_to_take(const TakenPiece& piece);
/// The type of the counts after the change, (1) int64.
RankMessage ask_to_change(const CountsChange& change);
/// Counts of another, wider type.
RankMessage ask_for_type(at::ScalarType type);
/// (m, N, N).
RankMessage ask_for_rows(const at::Tensor& rows);
/// (k) float64: the sum of each pattern.
RankMessage ask_for_sums();
/// (m) float64: counts in the pixels of a mask (N, N), FFT order.
RankMessage ask_for_totals(const at::Tensor& rows, const at::Tensor& mask);
/// (N, N) float64: the sum of counts^power.
RankMessage ask_for_sum_over(const at::Tensor& rows, double power);
/// The gradient of a batch (m), whose object is that of `state`.
RankMessage ask_for_gradient(const at::Tensor& rows, const SolverProblem& problem,
                             const SolverState& state, const at::Tensor& batch,
                             const GradientOptions& options);
/// The sights of a batch (m).
RankMessage ask_for_sights(const at::Tensor& rows, const SolverProblem& problem,
                           const SolverState& state, const at::Tensor& batch,
                           const PhaseNodes& nodes, const GradientOptions& options);

// Answers: a text, empty unless the rank has failed, then the arrays.

RankMessage answer(CountsPart& part, const RankMessage& question);
/// What the patterns of a batch (m) see, the first seen_arrays() arrays of a question; its first
/// one begins with the question. And back, as a problem and a state of these patterns alone.
RankMessage what_is_seen(Question question, const at::Tensor& rows, const SolverProblem& problem,
                         const SolverState& state, const at::Tensor& batch,
                         const GradientOptions& options = {});
std::size_t seen_arrays();
/// All variables behind what a message holds, and back from the array `first` on.
void append_arrays(RankMessage& message, const FittedArrays& arrays);
void take_arrays(const RankMessage& message, std::size_t first, FittedArrays& arrays);
struct Seen {
  SolverProblem problem;
  SolverState state;
  GradientOptions options;
  at::Tensor batch;  ///< all of them
};
Seen seen_by(const CountsPart& part, const RankMessage& question);
/// One of an array's numbers.
double number_at(const at::Tensor& numbers, std::int64_t index);
/// Answers begin with this.
at::Tensor no_failure();

/// What a message asks for.
Question asked_in(const RankMessage& question);
/// That of a rank which could not, naming it.
RankMessage failure_answer(const std::exception& error);
/// What went wrong; empty = nothing.
std::string failure_in(const RankMessage& answer);
const at::Tensor& array_of(const RankMessage& answer);
SolverGradient gradient_of(const RankMessage& answer);
Sight sights_of(const RankMessage& answer);

}  // namespace ptyche
