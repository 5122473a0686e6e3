#include "ptyche/solve/shares.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/messages.h"
#include "ptyche/solve/counts_part.h"

namespace ptyche {
namespace {

constexpr std::int64_t kPieceBytes = std::int64_t{64} << 20;  // of counts that are sent at once

/// Writes the parts first.. of the patterns `among` (k) into `owner`.
void cut_in_parts(const at::Tensor& positions, const at::Tensor& used, const at::Tensor& among,
                  std::int64_t first, std::int64_t parts, at::Tensor& owner) {
  if (parts == 1 || among.size(0) == 0) {
    owner.index_fill_(0, among, first);
    return;
  }
  const at::Tensor places = positions.index_select(0, among);
  const auto axis = (places.amax(0) - places.amin(0)).argmax().item<std::int64_t>();
  const at::Tensor order = among.index_select(0, places.select(1, axis).argsort(true, 0, false));
  const at::Tensor so_far = used.index_select(0, order).to(at::kLong).cumsum(0);
  const std::int64_t half = parts / 2, all = so_far[-1].item<std::int64_t>();
  const auto cut = so_far.le(all * half / parts).sum().item<std::int64_t>();
  cut_in_parts(positions, used, order.slice(0, 0, cut), first, half, owner);
  cut_in_parts(positions, used, order.slice(0, cut), first + half, parts - half, owner);
}

/// The part of the canvas that some patches touch.
struct Touched {
  std::int64_t row = 0, col = 0, rows = 0, cols = 0;

  at::Tensor of(const at::Tensor& canvas) const {
    return canvas.narrow(0, row, rows).narrow(1, col, cols);
  }
};

/// With a pixel more where a patch lies between pixels.
Touched touched_by(const SolverProblem& problem, const SolverState& state,
                   const at::Tensor& batch) {
  const at::Tensor corners = corners_of(problem, state, batch);
  const at::Tensor low = corners.amin(0).floor().to(at::kLong) - 1;
  const at::Tensor high = corners.amax(0).floor().to(at::kLong) + (problem.pattern_size() + 2);
  const auto begin = [&](std::int64_t axis) {
    return std::max<std::int64_t>(low[axis].item<std::int64_t>(), 0);
  };
  const auto length = [&](std::int64_t axis) {
    return std::min(high[axis].item<std::int64_t>(), state.object.size(axis)) - begin(axis);
  };
  return {begin(0), begin(1), length(0), length(1)};
}

/// The state as the patterns of a window see it.
SolverState state_in(const Touched& window, const SolverState& state) {
  SolverState seen = state;
  seen.object = window.of(state.object).contiguous();
  seen.origin_row += window.row;
  seen.origin_col += window.col;
  return seen;
}

void add_to(at::Tensor& sum, const at::Tensor& more) {
  if (!more.defined()) return;
  sum = sum.defined() ? sum + more : more;
}

/// Puts `some` (m, ...) in the places `where` (m) of `all` (k, ...), which is made where it is not
/// there.
void put_in(at::Tensor& all, std::int64_t k, const at::Tensor& where, const at::Tensor& some) {
  if (!some.defined()) return;
  std::vector<std::int64_t> shape = some.sizes().vec();
  shape.front() = k;
  if (!all.defined()) all = at::zeros(shape, some.options());
  all.index_copy_(0, where, some);
}

}  // namespace

at::Tensor parts_along(const at::Tensor& positions, const at::Tensor& used, std::int64_t parts) {
  at::Tensor owner = at::zeros({positions.size(0)}, at::kLong);
  cut_in_parts(positions, used, at::arange(positions.size(0), at::kLong), 0, parts, owner);
  return owner;
}

/// The patterns of a list that one rank holds.
struct Shares::Piece {
  std::size_t rank;
  at::Tensor where;  ///< in the list
  at::Tensor rows;   ///< of the rank's part
};

Shares::Shares(const at::Tensor& owner, Ask ask)
    : owner_(owner),
      row_(at::zeros_like(owner)),
      processes_(owner.max().item<std::int64_t>() + 1),
      ask_(std::move(ask)) {
  for (std::int64_t rank = 0; rank < processes_; ++rank) {
    const at::Tensor own = owner.eq(rank).nonzero().squeeze(1);
    row_.index_copy_(0, own, at::arange(own.size(0), at::kLong));
  }
}

std::vector<Shares::Piece> Shares::pieces_of(const at::Tensor& frames) const {
  const at::Tensor owner = owner_.index_select(0, frames), row = row_.index_select(0, frames);
  std::vector<Piece> pieces;
  for (std::int64_t rank = 0; rank < processes_; ++rank) {
    const at::Tensor where = owner.eq(rank).nonzero().squeeze(1);
    if (where.size(0) > 0)
      pieces.push_back({static_cast<std::size_t>(rank), where, row.index_select(0, where)});
  }
  return pieces;
}

std::vector<RankMessage> Shares::ask(const std::vector<RankMessage>& questions) const {
  const std::lock_guard lock(one_at_a_time_);
  std::vector<RankMessage> answers = ask_(questions);
  for (const RankMessage& each : answers)
    if (!each.empty())
      if (const std::string failure = failure_in(each); !failure.empty())
        throw RankFailure(failure);
  return answers;
}

at::Tensor Shares::rows(const at::Tensor& frames) const {
  const std::vector<Piece> pieces = pieces_of(frames);
  std::vector<RankMessage> questions(static_cast<std::size_t>(processes_));
  for (const Piece& piece : pieces) questions[piece.rank] = ask_for_rows(piece.rows);
  const std::vector<RankMessage> answers = ask(questions);
  at::Tensor all;
  for (const Piece& piece : pieces)
    put_in(all, frames.size(0), piece.where, array_of(answers[piece.rank]));
  return all;
}

at::Tensor Shares::sums() const {
  const at::Tensor all_frames = at::arange(owner_.size(0), at::kLong);
  const std::vector<RankMessage> answers =
      ask(std::vector<RankMessage>(static_cast<std::size_t>(processes_), ask_for_sums()));
  at::Tensor all;
  for (const Piece& piece : pieces_of(all_frames))
    put_in(all, owner_.size(0), piece.where, array_of(answers[piece.rank]));
  return all;
}

at::Tensor Shares::sum_over(const at::Tensor& frames, double power) const {
  std::vector<RankMessage> questions(static_cast<std::size_t>(processes_));
  for (const Piece& piece : pieces_of(frames))
    questions[piece.rank] = ask_for_sum_over(piece.rows, power);
  at::Tensor sum;
  for (const RankMessage& each : ask(questions))
    if (!each.empty()) add_to(sum, array_of(each));
  return sum;
}

at::Tensor Shares::totals(const at::Tensor& frames, const at::Tensor& mask) const {
  const std::vector<Piece> pieces = pieces_of(frames);
  std::vector<RankMessage> questions(static_cast<std::size_t>(processes_));
  for (const Piece& piece : pieces) questions[piece.rank] = ask_for_totals(piece.rows, mask);
  const std::vector<RankMessage> answers = ask(questions);
  at::Tensor all;
  for (const Piece& piece : pieces)
    put_in(all, frames.size(0), piece.where, array_of(answers[piece.rank]));
  return all;
}

SolverGradient Shares::gradient(const SolverProblem& problem, const SolverState& state,
                                const at::Tensor& batch, const GradientOptions& options) const {
  whole_corners(problem, state, batch);  // it names the pattern as the user knows it
  const std::vector<Piece> pieces = pieces_of(problem.frames.index_select(0, batch));
  std::vector<RankMessage> questions(static_cast<std::size_t>(processes_));
  std::vector<Touched> windows;
  for (const Piece& piece : pieces) {
    const at::Tensor own = batch.index_select(0, piece.where);
    windows.push_back(touched_by(problem, state, own));
    questions[piece.rank] =
        ask_for_gradient(piece.rows, problem, state_in(windows.back(), state), own, options);
  }
  const std::vector<RankMessage> answers = ask(questions);
  SolverGradient sum{.object = at::zeros_like(state.object, at::MemoryFormat::Contiguous)};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const SolverGradient part = gradient_of(answers[pieces[i].rank]);
    sum.loss += part.loss;
    windows[i].of(sum.object).add_(part.object);
    add_to(sum.probe, part.probe);
    add_to(sum.background_root, part.background_root);
    put_in(sum.positions, batch.size(0), pieces[i].where, part.positions);
    put_in(sum.intensities, batch.size(0), pieces[i].where, part.intensities);
  }
  return sum;
}

Sight Shares::sights(const SolverProblem& problem, const SolverState& state,
                     const PhaseNodes& nodes) const {
  const std::vector<Piece> pieces = pieces_of(problem.frames);
  std::vector<RankMessage> questions(static_cast<std::size_t>(processes_));
  for (const Piece& piece : pieces) {
    const Touched window = touched_by(problem, state, piece.where);
    PhaseNodes seen = nodes;
    seen.first_row += window.row;
    seen.first_col += window.col;
    questions[piece.rank] =
        ask_for_sights(piece.rows, problem, state_in(window, state), piece.where, seen);
  }
  const std::vector<RankMessage> answers = ask(questions);
  Sight all;
  for (const Piece& piece : pieces) {
    const Sight part = sights_of(answers[piece.rank]);
    put_in(all.index, problem.patterns(), piece.where, part.index);
    put_in(all.slope, problem.patterns(), piece.where, part.slope);
    put_in(all.tilt, problem.patterns(), piece.where, part.tilt);
    put_in(all.information, problem.patterns(), piece.where, part.information);
  }
  return all;
}

// Between processes.

namespace {

RankMessage answered(CountsPart& part, const RankMessage& question) {
  try {
    return answer(part, question);
  } catch (const std::exception& error) {
    return failure_answer(error);
  }
}

/// The others work while rank 0 does its own part. Every answer is received, whatever comes.
std::vector<RankMessage> ask_ranks(CountsPart& own, const std::vector<RankMessage>& questions) {
  std::vector<RankMessage> answers(questions.size());
  for (std::size_t rank = 1; rank < questions.size(); ++rank)
    if (!questions[rank].empty()) send_to(static_cast<int>(rank), questions[rank]);
  if (!questions[0].empty()) answers[0] = answered(own, questions[0]);
  for (std::size_t rank = 1; rank < questions.size(); ++rank)
    if (!questions[rank].empty()) answers[rank] = receive_from(static_cast<int>(rank));
  return answers;
}

/// A rank's patterns, piece by piece, which `take` is given one after the other.
template <class Take>
void give_part(const Scan& scan, const at::Tensor& frames, const ShareOptions& options,
               const Take& take) {
  const std::int64_t size = scan.pattern_size();
  const std::int64_t bytes = size * size * static_cast<std::int64_t>(scan.counts().element_size());
  const std::int64_t at_once = std::max<std::int64_t>(1, kPieceBytes / bytes);
  std::int64_t first = 0;
  for (const at::Tensor& some : frames.split(at_once)) {
    take(ask_to_take({.counts = counts_of(scan, some),
                      .first = first,
                      .all = frames.size(0),
                      .threads = options.threads,
                      .memory_bytes = options.memory_bytes}));
    first += some.size(0);
  }
}

void require_taken(const RankMessage& answer) {
  if (const std::string failure = failure_in(answer); !failure.empty()) throw RankFailure(failure);
}

}  // namespace

Scan shared_by_ranks(const Scan& scan, const ShareOptions& options) {
  if (!ranks().several()) return scan;
  const at::Tensor used = scan.frame_use().eq(static_cast<int>(FrameUse::used));
  const std::int64_t patterns = used.sum().item<std::int64_t>();
  require(patterns >= ranks().all, "expected at least as many used patterns as ranks, {}, found {}",
          ranks().all, patterns);
  const at::Tensor owner = parts_along(scan.positions(), used, ranks().all);
  const auto own = std::make_shared<CountsPart>();
  for (int rank = ranks().all; rank-- > 0;)
    give_part(scan, owner.eq(rank).nonzero().squeeze(1), rank > 0 ? options : ShareOptions{},
              [&](const RankMessage& piece) {
                if (rank == 0) return require_taken(answered(*own, piece));
                send_to(rank, piece);
                require_taken(receive_from(rank));
              });
  ScanFields fields = scan.fields();
  fields.counts = at::Tensor();
  fields.shared = std::make_shared<Shares>(owner, [own](const std::vector<RankMessage>& questions) {
    return ask_ranks(*own, questions);
  });
  note("{} ranks share the {} patterns, about {} each", ranks().all, scan.frames(),
       scan.frames() / ranks().all);
  return Scan(std::move(fields));
}

void serve_rank_0() {
  CountsPart part;
  for (RankMessage question = receive_from(0); !question.empty(); question = receive_from(0))
    send_to(0, answered(part, question));
}

std::shared_ptr<const Shares> shares_of(const Scan& scan) {
  return std::dynamic_pointer_cast<const Shares>(scan.shared());
}

}  // namespace ptyche
