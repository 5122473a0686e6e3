// The patterns that one rank holds, and what it is asked about them. A rank keeps counts and
// nothing else: image, probe and positions come with each question, cut to what its patterns see.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>

#include "ptyche/core/ranks.h"
#include "ptyche/solve/problem.h"
#include "ptyche/solve/slow_phase.h"

namespace ptyche {

/// k patterns; those of a question are named by their rows 0..k-1.
struct CountsPart {
  at::Tensor counts;         ///< (k, N, N) while they come in; then in `scan`
  std::optional<Scan> scan;  ///< without positions, probe and use of its own
};

/// What is asked of a rank. Each is a function below, on either side of the way between them.
enum class Question : std::int64_t { take, rows, sums, totals, sum_over, gradient, sights };

// Questions, each about one rank's patterns. `rows` (m) int64.

struct TakenPiece {
  at::Tensor counts;                ///< (m, N, N), a part of what the rank is to hold
  std::int64_t first = 0, all = 0;  ///< where they stand among all of its patterns
  std::int64_t threads = 0;         ///< of the rank, 0 = as it is
  double memory_bytes = 0;          ///< see MemoryOptions
};
RankMessage ask_to_take(const TakenPiece& piece);
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
                           const PhaseNodes& nodes);

// Answers: a text, empty unless the rank has failed, then the arrays.

RankMessage answer(CountsPart& part, const RankMessage& question);
/// That of a rank which could not, naming it.
RankMessage failure_answer(const std::exception& error);
/// What went wrong; empty = nothing.
std::string failure_in(const RankMessage& answer);
const at::Tensor& array_of(const RankMessage& answer);
SolverGradient gradient_of(const RankMessage& answer);
Sight sights_of(const RankMessage& answer);

}  // namespace ptyche
