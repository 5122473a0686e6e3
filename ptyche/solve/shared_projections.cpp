#include "ptyche/solve/shared_projections.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/data/probe.h"
#include "ptyche/solve/counts_part.h"
#include "ptyche/solve/illumination.h"
#include "ptyche/solve/projection_kernels.h"

namespace ptyche {
namespace {

// A sweep of fewer patterns is not interrupted for a merge.
constexpr std::int64_t kLeastBetweenMerges = 64;
constexpr std::int64_t kMergesPerSweep = 8;

at::Tensor numbers_of(const cpu::PieOptions& o) {
  return at::tensor({o.object_step, o.object_regularisation, o.probe_step, o.probe_regularisation},
                    at::kDouble);
}

cpu::PieOptions pie_options(const double* number) {
  return {.object_step = number[0],
          .object_regularisation = number[1],
          .probe_step = number[2],
          .probe_regularisation = number[3]};
}

at::Tensor numbers_of(const cpu::DifferenceMapOptions& o) {
  return at::tensor({static_cast<double>(o.how.keep), static_cast<double>(o.how.reflected),
                     static_cast<double>(o.how.product), static_cast<double>(o.how.fresh),
                     static_cast<double>(o.within_noise)},
                    at::kDouble);
}

cpu::DifferenceMapOptions overlap_options(const double* number) {
  cpu::DifferenceMapOptions options{.within_noise = number[4] != 0};
  options.how.keep = static_cast<float>(number[0]);
  options.how.reflected = static_cast<float>(number[1]);
  options.how.product = static_cast<float>(number[2]);
  options.how.fresh = number[3] != 0;
  return options;
}

/// change / ((1 - share) power + share max power), the step of object and probe.
at::Tensor step_of(const at::Tensor& change, const at::Tensor& power, double share) {
  return change / ((1 - share) * power + share * power.max());
}

}  // namespace

SharedProjections::~SharedProjections() {
  if (!problem_) return;
  try {
    ask_all(Question::forget_waves, {});
  } catch (const std::exception&) {  // a rank that cannot even forget is found out by the next one
  }
}

/// What all patterns of each rank see, and `numbers`.
std::vector<RankMessage> SharedProjections::ask_all(Question question,
                                                    const at::Tensor& numbers) const {
  std::vector<RankMessage> questions(static_cast<std::size_t>(problem_->shares->processes()));
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    RankMessage& asked = questions[pieces_[i].rank];
    asked = what_is_seen(question, pieces_[i].rows, *problem_, state_in(windows_[i], state_),
                         pieces_[i].where);
    asked.push_back(at::tensor({static_cast<std::int64_t>(keep_waves_), batch_}, at::kLong));
    asked.push_back(numbers);
  }
  return problem_->shares->ask(questions);
}

bool SharedProjections::load(const SolverProblem& problem, const SolverState& state) {
  const bool fresh = !problem_ || state_.object.sizes() != state.object.sizes() ||
                     state_.probe.sizes() != state.probe.sizes();
  if (!problem_) {
    problem_ = problem;
    pieces_ = problem.shares->pieces_of(problem.frames);
    piece_of_.resize(static_cast<std::size_t>(problem.patterns()));
    row_of_.resize(piece_of_.size());
    for (std::size_t piece = 0; piece < pieces_.size(); ++piece)
      for (std::int64_t i = 0; i < pieces_[piece].where.size(0); ++i) {
        const auto at = static_cast<std::size_t>(pieces_[piece].where[i].item<std::int64_t>());
        piece_of_[at] = static_cast<std::int64_t>(piece);
        row_of_[at] = i;
      }
  }
  state_ = state;
  if (!fresh) return false;
  // Of the given positions and as far as they may move: with another window the ranks would have
  // to begin anew.
  SolverState given = state;
  given.position_corrections = at::zeros_like(state.position_corrections);
  windows_.clear();
  for (const RankPiece& piece : pieces_)
    windows_.push_back(window_of(problem, given, piece.where, problem.room_px));
  return true;
}

double SharedProjections::pie_sweep(std::span<const std::int64_t> order,
                                    const cpu::PieOptions& options) {
  std::vector<std::vector<std::int64_t>> own(pieces_.size());
  for (const std::int64_t pattern : order) {
    const auto at = static_cast<std::size_t>(pattern);
    own[static_cast<std::size_t>(piece_of_[at])].push_back(row_of_[at]);
  }
  const std::int64_t merges = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(order.size()) / kLeastBetweenMerges, 1, kMergesPerSweep);
  double misfit = 0;
  for (std::int64_t merge = 0; merge < merges; ++merge) {
    std::vector<at::Tensor> orders;
    for (const std::vector<std::int64_t>& rows : own) {
      const auto all = static_cast<std::int64_t>(rows.size());
      const std::int64_t first = all * merge / merges, last = all * (merge + 1) / merges;
      orders.push_back(at::tensor(rows, at::kLong).slice(0, first, last).contiguous());
    }
    misfit += merged_sweep(orders, options);
  }
  return misfit;
}

double SharedProjections::merged_sweep(const std::vector<at::Tensor>& orders,
                                       const cpu::PieOptions& options) {
  std::vector<RankMessage> questions(static_cast<std::size_t>(problem_->shares->processes()));
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (orders[i].size(0) == 0) continue;
    RankMessage& asked = questions[pieces_[i].rank];
    asked = what_is_seen(Question::pie, pieces_[i].rows, *problem_, state_in(windows_[i], state_),
                         pieces_[i].where);
    asked.push_back(at::tensor({static_cast<std::int64_t>(keep_waves_), batch_}, at::kLong));
    asked.push_back(numbers_of(options));
    asked.push_back(orders[i]);
  }
  const std::vector<RankMessage> answers = problem_->shares->ask(questions);
  at::Tensor change = at::zeros_like(state_.object, at::MemoryFormat::Contiguous);
  at::Tensor light = at::zeros({state_.rows(), state_.cols()}, at::kFloat);
  at::Tensor probe = at::zeros_like(state_.probe);
  double misfit = 0, patterns = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const RankMessage& answer = answers[pieces_[i].rank];
    if (answer.empty()) continue;
    const auto swept = static_cast<double>(orders[i].size(0));
    misfit += array_of(answer).item<double>();
    windows_[i].of(change).add_((answer.at(2) - windows_[i].of(state_.object)) * answer.at(4));
    windows_[i].of(light).add_(answer.at(4));
    probe += (answer.at(3) - state_.probe) * swept;
    patterns += swept;
  }
  state_.object = state_.object + change / light.clamp_min(1e-30);
  if (patterns > 0) state_.probe = state_.probe + probe / patterns;
  return misfit;
}

double SharedProjections::difference_map_sweep(const cpu::DifferenceMapOptions& options) {
  at::Tensor change = at::zeros_like(state_.object, at::MemoryFormat::Contiguous);
  at::Tensor power = at::zeros({state_.rows(), state_.cols()}, at::kFloat);
  double misfit = 0;
  const std::vector<RankMessage> waves = ask_all(Question::overlap, numbers_of(options));
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const RankMessage& answer = waves[pieces_[i].rank];
    misfit += array_of(answer).item<double>();
    windows_[i].of(change).add_(answer.at(2));
    windows_[i].of(power).add_(answer.at(3));
  }
  state_.object = state_.object + step_of(change, power, options.regularisation);
  if (!options.refine_probe) return misfit;
  at::Tensor asked = at::zeros_like(state_.probe);
  at::Tensor seen = at::zeros(state_.probe.sizes().slice(2), at::kFloat);
  for (const RankMessage& answer : ask_all(Question::probe_sums, {})) {
    if (answer.empty()) continue;
    asked += answer.at(1);
    seen += answer.at(2);
  }
  state_.probe = state_.probe + step_of(asked, seen, options.regularisation);
  return misfit;
}

void SharedProjections::store(SolverState& state) const {
  state.object = state_.object;
  state.probe = state_.probe;
}

std::int64_t SharedProjections::wave_numbers() const {
  return problem_ ? 2 * problem_->patterns() * state_.probe.numel() : 0;
}

KeptWaves SharedProjections::kept_waves() const {
  KeptWaves all;
  const std::vector<RankMessage> answers = ask_all(Question::kept_waves, {});
  for (const RankPiece& piece : pieces_) {
    const RankMessage& answer = answers[piece.rank];
    if (!all.waves.defined()) {
      all.waves = at::zeros({problem_->patterns(), answer.at(1).size(1)}, at::kFloat);
      all.misfit = at::zeros({problem_->patterns()}, at::kDouble);
    }
    all.waves.index_copy_(0, piece.where, answer.at(1));
    all.misfit.index_copy_(0, piece.where, answer.at(2));
  }
  return all;
}

void SharedProjections::put_waves(const KeptWaves& kept) const {
  std::vector<RankMessage> questions(static_cast<std::size_t>(problem_->shares->processes()));
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    RankMessage& asked = questions[pieces_[i].rank];
    asked = what_is_seen(Question::put_waves, pieces_[i].rows, *problem_,
                         state_in(windows_[i], state_), pieces_[i].where);
    asked.push_back(at::tensor({static_cast<std::int64_t>(keep_waves_), batch_}, at::kLong));
    asked.push_back(kept.waves.index_select(0, pieces_[i].where));
    asked.push_back(kept.misfit.index_select(0, pieces_[i].where));
  }
  problem_->shares->ask(questions);
}

// On every rank.

namespace {

/// The rank's kernels with what the question has brought.
ProjectionKernels& loaded_kernels(CountsPart& part, const RankMessage& question, const Seen& seen) {
  const at::Tensor& kind = question.at(seen_arrays());
  if (!part.kernels)
    part.kernels = std::make_shared<ProjectionKernels>(kind[0].item<std::int64_t>() != 0,
                                                       kind[1].item<std::int64_t>());
  part.kernels->load(seen.problem, seen.state);
  return *part.kernels;
}

RankMessage answer_pie(ProjectionKernels& kernels, const RankMessage& question, Seen& seen) {
  const at::Tensor& order = question.at(seen_arrays() + 2);
  const std::span<const std::int64_t> rows(order.const_data_ptr<std::int64_t>(),
                                           static_cast<std::size_t>(order.numel()));
  const double misfit =
      kernels.pie_sweep(rows, pie_options(question.at(seen_arrays() + 1).const_data_ptr<double>()));
  kernels.store(seen.state);
  const at::Tensor corners = whole_corners(seen.problem, seen.state, order);
  const at::Tensor light =
      spread_at(mode_power(seen.state.main_probe()), corners, seen.state.rows(), seen.state.cols());
  return {no_failure(), at::tensor({misfit}, at::kDouble), seen.state.object, seen.state.probe,
          light};
}

}  // namespace

RankMessage answer_projections(CountsPart& part, const RankMessage& question) {
  const Question asked = asked_in(question);
  if (asked == Question::forget_waves) {
    part.kernels.reset();
    return {no_failure()};
  }
  Seen seen = seen_by(part, question);
  ProjectionKernels& kernels = loaded_kernels(part, question, seen);
  switch (asked) {
    case Question::pie:
      return answer_pie(kernels, question, seen);
    case Question::overlap: {
      const OverlapSums sums = kernels.overlap_waves(
          overlap_options(question.at(seen_arrays() + 1).const_data_ptr<double>()));
      return {no_failure(), at::tensor({sums.misfit}, at::kDouble), sums.change, sums.power};
    }
    case Question::probe_sums: {
      const OverlapSums sums = kernels.probe_sums();
      return {no_failure(), sums.change, sums.power};
    }
    case Question::kept_waves:
      return {no_failure(), kernels.waves(), kernels.misfit()};
    default:
      kernels.load_waves(question.at(seen_arrays() + 1), question.at(seen_arrays() + 2));
      return {no_failure()};
  }
}

}  // namespace ptyche
