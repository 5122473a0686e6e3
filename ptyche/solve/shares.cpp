#include "ptyche/solve/shares.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/messages.h"
#include "ptyche/io/together.h"
#include "ptyche/solve/counts_part.h"
#include "ptyche/solve/read_by_ranks.h"
#include "ptyche/solve/shared_ml.h"

namespace ptyche {
namespace {

constexpr std::int64_t kPieceBytes = std::int64_t{64} << 20;  // of counts that are sent at once

void add_to(at::Tensor& sum, const at::Tensor& more) {
  if (!more.defined()) return;
  sum = sum.defined() ? sum + more : more;
}

}  // namespace

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

std::vector<RankPiece> Shares::pieces_of(const at::Tensor& frames) const {
  const at::Tensor owner = owner_.index_select(0, frames), row = row_.index_select(0, frames);
  std::vector<RankPiece> pieces;
  for (std::int64_t rank = 0; rank < processes_; ++rank) {
    const at::Tensor where = owner.eq(rank).nonzero().squeeze(1);
    if (where.size(0) > 0)
      pieces.push_back({static_cast<std::size_t>(rank), where, row.index_select(0, where)});
  }
  return pieces;
}

std::vector<RankMessage> Shares::ask(const std::vector<RankMessage>& questions,
                                     const RankWork& work) const {
  const std::lock_guard lock(one_at_a_time_);
  std::vector<RankMessage> answers = ask_(questions, work);
  for (const RankMessage& each : answers)
    if (!each.empty())
      if (const std::string failure = failure_in(each); !failure.empty())
        throw RankFailure(failure);
  return answers;
}

at::Tensor Shares::rows(const at::Tensor& frames) const {
  const std::vector<RankPiece> pieces = pieces_of(frames);
  std::vector<RankMessage> questions(static_cast<std::size_t>(processes_));
  for (const RankPiece& piece : pieces) questions[piece.rank] = ask_for_rows(piece.rows);
  const std::vector<RankMessage> answers = ask(questions);
  at::Tensor all;
  for (const RankPiece& piece : pieces)
    put_in(all, frames.size(0), piece.where, array_of(answers[piece.rank]));
  return all;
}

at::Tensor Shares::sums() const {
  const at::Tensor all_frames = at::arange(owner_.size(0), at::kLong);
  const std::vector<RankMessage> answers =
      ask(std::vector<RankMessage>(static_cast<std::size_t>(processes_), ask_for_sums()));
  at::Tensor all;
  for (const RankPiece& piece : pieces_of(all_frames))
    put_in(all, owner_.size(0), piece.where, array_of(answers[piece.rank]));
  return all;
}

at::Tensor Shares::sum_over(const at::Tensor& frames, double power) const {
  std::vector<RankMessage> questions(static_cast<std::size_t>(processes_));
  for (const RankPiece& piece : pieces_of(frames))
    questions[piece.rank] = ask_for_sum_over(piece.rows, power);
  at::Tensor sum;
  for (const RankMessage& each : ask(questions))
    if (!each.empty()) add_to(sum, array_of(each));
  return sum;
}

at::Tensor Shares::totals(const at::Tensor& frames, const at::Tensor& mask) const {
  const std::vector<RankPiece> pieces = pieces_of(frames);
  std::vector<RankMessage> questions(static_cast<std::size_t>(processes_));
  for (const RankPiece& piece : pieces) questions[piece.rank] = ask_for_totals(piece.rows, mask);
  const std::vector<RankMessage> answers = ask(questions);
  at::Tensor all;
  for (const RankPiece& piece : pieces)
    put_in(all, frames.size(0), piece.where, array_of(answers[piece.rank]));
  return all;
}

std::shared_ptr<const SharedCounts> Shares::changed(const CountsChange& change) const {
  const auto to_all = [&](const RankMessage& question) {
    return ask(std::vector<RankMessage>(static_cast<std::size_t>(processes_), question));
  };
  at::ScalarType type = at::kByte;
  for (const RankMessage& each : to_all(ask_to_change(change)))
    type =
        at::promote_types(type, static_cast<at::ScalarType>(array_of(each).item<std::int64_t>()));
  to_all(ask_for_type(type));
  return std::make_shared<Shares>(owner_, ask_);
}

SolverGradient Shares::gradient(const SolverProblem& problem, const SolverState& state,
                                const at::Tensor& batch, const GradientOptions& options) const {
  whole_corners(problem, state, batch);  // it names the pattern as the user knows it
  const std::vector<RankPiece> pieces = pieces_of(problem.frames.index_select(0, batch));
  std::vector<RankMessage> questions(static_cast<std::size_t>(processes_));
  std::vector<ObjectWindow> windows;
  for (const RankPiece& piece : pieces) {
    const at::Tensor own = batch.index_select(0, piece.where);
    windows.push_back(window_of(problem, state, own));
    questions[piece.rank] =
        ask_for_gradient(piece.rows, problem, state_in(windows.back(), state), own, options);
  }
  const std::vector<RankMessage> answers = ask(questions);
  SolverGradient sum = zero_gradient(state);
  for (std::size_t i = 0; i < pieces.size(); ++i)
    add_part(sum, gradient_of(answers[pieces[i].rank]), windows[i], pieces[i].where, batch.size(0));
  return sum;
}

Sight Shares::sights(const SolverProblem& problem, const SolverState& state,
                     const PhaseNodes& nodes, const GradientOptions& options) const {
  const std::vector<RankPiece> pieces = pieces_of(problem.frames);
  std::vector<RankMessage> questions(static_cast<std::size_t>(processes_));
  for (const RankPiece& piece : pieces) {
    const ObjectWindow window = window_of(problem, state, piece.where);
    PhaseNodes seen = nodes;
    seen.first_row += window.row;
    seen.first_col += window.col;
    questions[piece.rank] =
        ask_for_sights(piece.rows, problem, state_in(window, state), piece.where, seen, options);
  }
  const std::vector<RankMessage> answers = ask(questions);
  Sight all;
  for (const RankPiece& piece : pieces) {
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

RankMessage answered(CountsPart& part, const RankMessage& question, const RankWork& work) {
  try {
    return work(part, question);
  } catch (const std::exception& error) {
    return failure_answer(error);
  }
}

/// The others work while rank 0 does its own part. Every answer is received, whatever comes.
std::vector<RankMessage> ask_ranks(CountsPart& own, const std::vector<RankMessage>& questions,
                                   const RankWork& work) {
  std::vector<RankMessage> answers(questions.size());
  for (std::size_t rank = 1; rank < questions.size(); ++rank)
    if (!questions[rank].empty()) send_to(static_cast<int>(rank), questions[rank]);
  if (!questions[0].empty()) answers[0] = answered(own, questions[0], work);
  for (std::size_t rank = 1; rank < questions.size(); ++rank)
    if (!questions[rank].empty()) answers[rank] = receive_from(static_cast<int>(rank));
  return answers;
}

/// A rank's patterns, piece by piece, which `take` is given one after the other.
template <class Take>
void give_part(const Scan& scan, const at::Tensor& frames, const Take& take) {
  const std::int64_t size = scan.pattern_size();
  const std::int64_t bytes = size * size * static_cast<std::int64_t>(scan.counts().element_size());
  const std::int64_t at_once = std::max<std::int64_t>(1, kPieceBytes / bytes);
  std::int64_t first = 0;
  for (const at::Tensor& some : frames.split(at_once)) {
    take(ask_to_take({.counts = counts_of(scan, some), .first = first, .all = frames.size(0)}));
    first += some.size(0);
  }
}

void require_taken(const RankMessage& answer) {
  if (const std::string failure = failure_in(answer); !failure.empty()) throw RankFailure(failure);
}

}  // namespace

void settle_ranks(const ShareOptions& options) {
  for (int rank = 1; rank < ranks().all; ++rank) {
    send_to(rank, ask_to_settle(options.threads, options.memory_bytes));
    require_taken(receive_from(rank));
  }
}

Scan shared_by_ranks(const Scan& scan) {
  if (!ranks().several() || scan.shared()) return scan;
  const at::Tensor used = scan.frame_use().eq(static_cast<int>(FrameUse::used));
  const std::int64_t patterns = used.sum().item<std::int64_t>();
  require(patterns >= ranks().all, "expected at least as many used patterns as ranks, {}, found {}",
          ranks().all, patterns);
  const at::Tensor owner = parts_along(scan.positions(), used, ranks().all);
  auto own = std::make_shared<CountsPart>();
  for (int rank = ranks().all; rank-- > 0;)
    give_part(scan, owner.eq(rank).nonzero().squeeze(1), [&](const RankMessage& piece) {
      if (rank == 0) return require_taken(answered(*own, piece, answer));
      send_to(rank, piece);
      require_taken(receive_from(rank));
    });
  ScanFields fields = scan.fields();
  fields.counts = at::Tensor();
  return scan_of_parts(std::move(fields), owner, std::move(own));
}

Scan scan_of_parts(ScanFields fields, const at::Tensor& owner, std::shared_ptr<CountsPart> own) {
  fields.shared = std::make_shared<Shares>(
      owner,
      [own = std::move(own)](const std::vector<RankMessage>& questions, const RankWork& work) {
        return ask_ranks(*own, questions, work);
      });
  note("{} ranks share the {} patterns, about {} each", ranks().all, owner.size(0),
       owner.size(0) / ranks().all);
  return Scan(std::move(fields));
}

void serve_rank_0(const std::map<Question, RankWork>& others) {
  CountsPart part;
  for (RankMessage question = receive_from(0); !question.empty(); question = receive_from(0)) {
    const Question asked = asked_in(question);
    const auto other = others.find(asked);
    RankWork work = answer;
    if (asked == Question::read) work = read_own_part;
    if (asked == Question::ml_steps) work = ml_steps_with_rank_0;
    if (other != others.end()) work = other->second;
    const RankMessage reply = answered(part, question, work);
    if (!reply.empty()) send_to(0, reply);
  }
}

std::shared_ptr<const Shares> shares_of(const Scan& scan) {
  return std::dynamic_pointer_cast<const Shares>(scan.shared());
}

}  // namespace ptyche
