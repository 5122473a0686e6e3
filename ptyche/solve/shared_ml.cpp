#include "ptyche/solve/shared_ml.h"

#include <ATen/core/grad_mode.h>

#include <optional>
#include <utility>

#include "ptyche/solve/counts_part.h"
#include "ptyche/solve/joint_work.h"
#include "ptyche/solve/shared_pixels.h"
#include "ptyche/solve/shares.h"

namespace ptyche {
namespace {

// The prior asks of a pixel what its neighbours are; in a pass its steps carry what is missing at
// a window's edge no farther than this.
constexpr std::int64_t kMargin_px = 8;

/// What one rank needs for the steps of a pass, and what comes of them.
struct MlPart {
  SolverProblem problem;
  SolverState state;
  std::vector<MlBatch> batches;
  MlPass pass;
  MlMemory memory;
  at::Tensor shared;  ///< its pixels that others see, too (SharedPixels::in_window)
};

at::Tensor in_window(const ObjectWindow& window, const at::Tensor& canvas) {
  return canvas.defined() ? window.of(canvas).contiguous() : at::Tensor();
}

// A question: what the rank's patterns see (seen_arrays() arrays), then [0] numbers, [1] the rank's
// patterns in the order of the batches, [2] how many of each batch, [3] the batches' shares, [4]
// totals, [5] shared pixels, [6] to [11] moments of object, probe and background, [12] their steps.

/// A rank's patterns in the order of the batches, by their numbers in its part, and how many of
/// them each batch takes.
struct OwnOrder {
  std::vector<std::int64_t> patterns, of_batch;
};

/// Whether batches are so large that it does not matter which patterns make one.
bool are_large(const std::vector<MlBatch>& batches, std::size_t ranks) {
  constexpr std::int64_t kManyOfARank = 64;
  return batches.front().patterns.size(0) >= kManyOfARank * static_cast<std::int64_t>(ranks);
}

/// As many patterns to each batch as to every other, so that no rank waits for one that happens to
/// have more of it.
void spread_evenly(OwnOrder& order) {
  const std::size_t all = order.patterns.size(), steps = order.of_batch.size();
  for (std::size_t step = 0; step < steps; ++step)
    order.of_batch[step] = static_cast<std::int64_t>(all * (step + 1) / steps - all * step / steps);
}

/// By piece.
std::vector<OwnOrder> orders_of(const std::vector<RankPiece>& pieces, std::int64_t patterns,
                                const std::vector<MlBatch>& batches) {
  at::Tensor piece_of = at::zeros({patterns}, at::kLong), row_of = at::zeros_like(piece_of);
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    piece_of.index_fill_(0, pieces[piece].where, static_cast<std::int64_t>(piece));
    row_of.index_copy_(0, pieces[piece].where, at::arange(pieces[piece].where.size(0), at::kLong));
  }
  const auto *owner = piece_of.const_data_ptr<std::int64_t>(),
             *row = row_of.const_data_ptr<std::int64_t>();
  std::vector<OwnOrder> orders(pieces.size());
  for (const MlBatch& batch : batches) {
    for (OwnOrder& order : orders) order.of_batch.push_back(0);
    const at::Tensor listed = batch.patterns.contiguous();
    const auto* pattern = listed.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < listed.size(0); ++i) {
      OwnOrder& order = orders[static_cast<std::size_t>(owner[pattern[i]])];
      order.patterns.push_back(row[pattern[i]]);
      ++order.of_batch.back();
    }
  }
  if (are_large(batches, pieces.size()))
    for (OwnOrder& order : orders) spread_evenly(order);
  return orders;
}

at::Tensor shares_of_batches(const std::vector<MlBatch>& batches) {
  std::vector<double> shares;
  for (const MlBatch& batch : batches) shares.push_back(batch.share);
  return at::tensor(shares, at::kDouble);
}

/// The light and options by which the steps go, as far as a rank does not know them.
at::Tensor numbers_of(const SolverProblem& problem, const MlPass& pass, std::int64_t own) {
  const SolverOptions& options = problem.options;
  const double share = static_cast<double>(own) / static_cast<double>(problem.patterns());
  return at::tensor(
      {pass.object_step, pass.probe_step, pass.slope_prior, pass.auxiliary, options.background_step,
       options.max_amplitude, options.probe_support, problem.photons * share},
      at::kDouble);
}

RankMessage question_of(const RankPiece& piece, const ObjectWindow& window,
                        const SolverProblem& problem, const SolverState& state, const MlPass& pass,
                        MlMemory& memory) {
  RankMessage message = what_is_seen(Question::ml_steps, piece.rows, problem,
                                     state_in(window, state), piece.where, pass.gradient);
  message.push_back(numbers_of(problem, pass, piece.where.size(0)));
  const ComplexAdam &object = memory.object, &probe = memory.probe,
                    &background = memory.auxiliary.background();
  message.insert(message.end(),
                 {{},
                  {},
                  {},
                  problem.totals.index_select(0, piece.where),
                  {},
                  in_window(window, object.mean),
                  in_window(window, object.square),
                  probe.mean,
                  probe.square,
                  background.mean,
                  background.square,
                  at::tensor({object.steps, probe.steps, background.steps}, at::kLong)});
  return message;
}

MlPart part_of(const CountsPart& counts, const RankMessage& question) {
  const auto at = [&](std::size_t index) { return question.at(seen_arrays() + index); };
  Seen seen = seen_by(counts, question);
  const at::Tensor given = at(0), steps = at(12);
  const auto kept = [&](std::size_t mean, std::int64_t number) {
    const at::Tensor moment = at(mean), square = at(mean + 1);
    return ComplexAdam{moment.defined() ? moment.clone() : moment,
                       square.defined() ? square.clone() : square,
                       steps[number].item<std::int64_t>()};
  };
  MlPart part{.problem = std::move(seen.problem),
              .state = seen.state.clone(),
              .batches = {},
              .pass = {.object_step = number_at(given, 0),
                       .probe_step = number_at(given, 1),
                       .slope_prior = number_at(given, 2),
                       .auxiliary = number_at(given, 3),
                       .gradient = seen.options},
              .memory = {.object = kept(6, 0),
                         .probe = kept(8, 1),
                         .auxiliary = AuxiliaryUpdates({.gradient = seen.options})},
              .shared = at(5)};
  part.memory.auxiliary.background() = kept(10, 2);
  SolverOptions& options = part.problem.options;
  options.background_step = number_at(given, 4);
  options.max_amplitude = number_at(given, 5);
  options.probe_support = number_at(given, 6);
  part.problem.photons = number_at(given, 7);
  part.problem.totals = at(4);
  std::int64_t first = 0;
  for (std::int64_t batch = 0; batch < at(2).size(0); ++batch) {
    const std::int64_t last = first + at(2)[batch].item<std::int64_t>();
    part.batches.push_back({at(1).slice(0, first, last), number_at(at(3), batch)});
    first = last;
  }
  return part;
}

// What a rank gives and gets after each batch: gradients of probe and background, then those of
// its shared pixels, as numbers.

at::Tensor as_numbers(const at::Tensor& values) {
  return values.is_complex() ? at::view_as_real(values.contiguous()).flatten() : values.flatten();
}

std::int64_t numbers_in_common(const SolverState& state) {
  const bool background = state.background_root.defined();
  return 2 * state.probe.numel() + (background ? state.background_root.numel() : 0);
}

/// `reply` gives what the ranks' numbers add up to.
AddOtherRanks adding(const at::Tensor& shared, std::function<at::Tensor(const at::Tensor&)> reply) {
  return [shared, reply = std::move(reply)](SolverGradient& slope) {
    const at::NoGradGuard no_grad;
    at::Tensor pixels = slope.object.view(-1);
    std::vector<at::Tensor> own{as_numbers(slope.probe)};
    if (slope.background_root.defined()) own.push_back(as_numbers(slope.background_root));
    own.push_back(as_numbers(pixels.index_select(0, shared)));
    const at::Tensor sum = reply(at::cat(own));
    std::int64_t first = 0;
    const auto next = [&](std::int64_t count) {
      first += count;
      return sum.slice(0, first - count, first);
    };
    slope.probe = at::view_as_complex(
        next(2 * slope.probe.numel()).view(at::view_as_real(slope.probe).sizes()));
    if (slope.background_root.defined())
      slope.background_root =
          next(slope.background_root.numel()).view(slope.background_root.sizes());
    pixels.index_copy_(0, shared, at::view_as_complex(next(2 * shared.numel()).view({-1, 2})));
  };
}

/// What all parts have come to, put together.
struct Parts {
  std::vector<ObjectWindow> windows;
  std::vector<at::Tensor> object, mean, square;
};

void put_together(const Parts& parts, SolverState& state, ComplexAdam& moments) {
  if (!moments.mean.defined())
    moments = {at::zeros_like(state.object), at::zeros(state.object.sizes(), at::kFloat), 0};
  put_together(state.object, parts.windows, parts.object);
  put_together(moments.mean, parts.windows, parts.mean);
  put_together(moments.square, parts.windows, parts.square);
}

void put_in(at::Tensor& all, const at::Tensor& where, const at::Tensor& some) {
  if (some.defined()) all.index_copy_(0, where, some);
}

/// Rank 0's side of a pass.
struct AskedPieces {
  std::vector<RankPiece> pieces;
  std::vector<ObjectWindow> windows;
  SharedPixels shared;
  std::vector<RankMessage> questions;  // by rank
};

AskedPieces asked_of(const SolverProblem& problem, const SolverState& state,
                     const std::vector<MlBatch>& batches, const MlPass& pass, MlMemory& memory) {
  AskedPieces asked{.pieces = problem.shares->pieces_of(problem.frames)};
  for (const RankPiece& piece : asked.pieces)
    asked.windows.push_back(window_of(problem, state, piece.where, kMargin_px));
  asked.shared = shared_pixels(asked.windows, {state.rows(), state.cols()});
  const std::vector<OwnOrder> orders = orders_of(asked.pieces, problem.patterns(), batches);
  for (std::size_t i = 0; i < asked.pieces.size(); ++i) {
    RankMessage message =
        question_of(asked.pieces[i], asked.windows[i], problem, state, pass, memory);
    message[seen_arrays() + 1] = at::tensor(orders[i].patterns, at::kLong);
    message[seen_arrays() + 2] = at::tensor(orders[i].of_batch, at::kLong);
    message[seen_arrays() + 3] = shares_of_batches(batches);
    message[seen_arrays() + 5] = asked.shared.in_window[i];
    asked.questions.push_back(std::move(message));
  }
  return asked;
}

/// `state` and `memory` become what all ranks have come to. Returns their loss, of which `loss` is
/// the own one.
double gathered(const AskedPieces& asked, MlPart& own, double loss,
                const std::vector<RankMessage>& answers, SolverState& state, MlMemory& memory) {
  Parts parts{.windows = asked.windows,
              .object = {own.state.object},
              .mean = {own.memory.object.mean},
              .square = {own.memory.object.square}};
  at::Tensor& slopes = memory.auxiliary.position_gradient();
  if (!slopes.defined()) slopes = at::zeros_like(state.position_corrections);
  put_in(slopes, asked.pieces[0].where, own.memory.auxiliary.position_gradient());
  put_in(state.intensities, asked.pieces[0].where, own.state.intensities);
  for (std::size_t rank = 1; rank < answers.size(); ++rank) {
    const RankMessage& answer = answers[rank];
    loss += number_at(answer.at(1), 0);
    parts.object.push_back(answer.at(2));
    parts.mean.push_back(answer.at(3));
    parts.square.push_back(answer.at(4));
    put_in(slopes, asked.pieces[rank].where, answer.at(5));
    put_in(state.intensities, asked.pieces[rank].where, answer.at(6));
  }
  put_together(parts, state, memory.object);
  memory.object.steps = own.memory.object.steps;
  memory.probe = own.memory.probe;
  memory.auxiliary.background() = own.memory.auxiliary.background();
  state.probe = own.state.probe;
  state.background_root = own.state.background_root;
  return loss;
}

}  // namespace

double ml_steps_by_ranks(const SolverProblem& problem, SolverState& state,
                         const std::vector<MlBatch>& batches, const MlPass& pass,
                         MlMemory& memory) {
  whole_corners(problem, state, all_patterns(problem));  // it names a pattern as the user knows it
  const AskedPieces asked = asked_of(problem, state, batches, pass, memory);
  const bool all_have_some =
      static_cast<std::int64_t>(asked.pieces.size()) == problem.shares->processes();
  if (!all_have_some) return ml_steps(problem, state, batches, pass, memory);
  std::optional<MlPart> own;
  std::vector<RankMessage> to_rank_0(asked.questions.size());
  to_rank_0.front() = asked.questions.front();
  problem.shares->ask(to_rank_0, [&](CountsPart& part, const RankMessage& question) {
    own = part_of(part, question);
    return RankMessage{no_failure()};
  });
  JointWork others(
      [&](int rank) { send_to(rank, asked.questions[static_cast<std::size_t>(rank)]); });
  others.begin();
  const std::int64_t common = numbers_in_common(state);
  const double loss = ml_steps(own->problem, own->state, own->batches, own->pass, own->memory,
                               adding(own->shared, [&](const at::Tensor& numbers_of_own) {
                                 return others.reply(numbers_of_own, [&](const auto& all) {
                                   return sums_over_windows(asked.shared, all, common);
                                 });
                               }));
  return gathered(asked, *own, loss, others.finish(), state, memory);
}

RankMessage ml_steps_with_rank_0(CountsPart& counts, const RankMessage& question) {
  return joint_answer([&]() -> RankMessage {
    const at::NoGradGuard no_grad;
    MlPart part = part_of(counts, question);
    const double loss = ml_steps(part.problem, part.state, part.batches, part.pass, part.memory,
                                 adding(part.shared, reply_of_rank_0));
    return {at::tensor({loss}, at::kDouble),
            part.state.object,
            part.memory.object.mean,
            part.memory.object.square,
            part.memory.auxiliary.position_gradient(),
            part.state.intensities};
  });
}

}  // namespace ptyche
