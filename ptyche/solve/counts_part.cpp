#include "ptyche/solve/counts_part.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/memory.h"
#include "ptyche/data/probe.h"
#include "ptyche/solve/shared_projections.h"

namespace ptyche {
namespace {

constexpr std::int64_t kTotalledAtOnce = 64;  // patterns

at::Tensor whole_numbers(std::vector<std::int64_t> values) { return at::tensor(values, at::kLong); }

std::int64_t whole_number_at(const RankMessage& message, std::int64_t index) {
  return message.at(0)[index].item<std::int64_t>();
}

RankMessage about_rows(Question question, const at::Tensor& rows) {
  return {whole_numbers({static_cast<std::int64_t>(question)}), rows};
}

}  // namespace

// What the patterns of a batch see: [0] whole numbers, [1] rows, [2] positions, [3] mask, [4] the
// near field's lengths, then all variables, then nodes.
constexpr std::size_t kSeenBeforeVariables = 5;

RankMessage what_is_seen(Question question, const at::Tensor& rows, const SolverProblem& problem,
                         const SolverState& state, const at::Tensor& batch,
                         const GradientOptions& options) {
  const auto* near = std::get_if<NearField>(&problem.propagation);
  const NearField lengths = near ? *near : NearField{};
  RankMessage message{
      whole_numbers({static_cast<std::int64_t>(question), state.origin_row, state.origin_col,
                     static_cast<std::int64_t>(problem.options.interpolation),
                     static_cast<std::int64_t>(problem.options.positions),
                     static_cast<std::int64_t>(options.engine),
                     static_cast<std::int64_t>(options.likelihood), near != nullptr}),
      rows, problem.positions.index_select(0, batch), problem.mask,
      at::tensor({lengths.wavelength_m, lengths.pixel_m, lengths.distance_m}, at::kDouble)};
  append_arrays(message, of_patterns(state, batch));
  return message;
}

Seen seen_by(const CountsPart& part, const RankMessage& message) {
  const at::Tensor& rows = message.at(1);
  const auto number = [&](std::int64_t index) { return whole_number_at(message, index); };
  Propagation propagation = FarField{};
  if (number(7) != 0)
    propagation = NearField{number_at(message.at(4), 0), number_at(message.at(4), 1),
                            number_at(message.at(4), 2)};
  SolverOptions common{.positions = static_cast<PositionFreedom>(number(4)),
                       .interpolation = static_cast<Interpolation>(number(3))};
  Seen seen{.problem = {.scan = part.scan.value(),
                        .measured = part.scan.value(),
                        .frames = rows,
                        .positions = message.at(2),
                        .mask = message.at(3),
                        .totals = {},
                        .options = std::move(common),
                        .propagation = propagation},
            .state = {},
            .options = {.engine = static_cast<Engine>(number(5)),
                        .likelihood = static_cast<LossKind>(number(6))},
            .batch = at::arange(rows.size(0), at::kLong)};
  take_arrays(message, kSeenBeforeVariables, seen.state);
  seen.state.origin_row = number(1);
  seen.state.origin_col = number(2);
  return seen;
}

std::size_t seen_arrays() { return kSeenBeforeVariables + variables().size(); }

void append_arrays(RankMessage& message, const FittedArrays& arrays) {
  for (const Variable& variable : variables()) message.push_back(arrays.*variable.array);
}

void take_arrays(const RankMessage& message, std::size_t first, FittedArrays& arrays) {
  for (const Variable& variable : variables()) arrays.*variable.array = message.at(first++);
}

double number_at(const at::Tensor& numbers, std::int64_t index) {
  return numbers[index].item<double>();
}

at::Tensor no_failure() { return at::empty({0}, at::kByte); }

namespace {

// The answers, by question.

RankMessage take_settings(const RankMessage& question) {
  const std::int64_t threads = whole_number_at(question, 1);
  if (threads > 0) at::set_num_threads(static_cast<int>(threads));
  if (const double bytes = number_at(question.at(1), 0); bytes > 0) use_memory({.bytes = bytes});
  return {no_failure()};
}

RankMessage changed(CountsPart& part, at::Tensor counts) {
  const auto type = static_cast<std::int64_t>(counts.scalar_type());
  part.scan = scan_of_counts(std::move(counts));
  return {no_failure(), whole_numbers({type})};
}

RankMessage take(CountsPart& part, const RankMessage& question) {
  const std::int64_t first = whole_number_at(question, 1), all = whole_number_at(question, 2);
  const at::Tensor& piece = question.at(1);
  if (first == 0) {
    part.scan.reset();
    part.counts = at::empty({all, piece.size(1), piece.size(2)}, piece.options());
  }
  part.counts.narrow(0, first, piece.size(0)).copy_(piece);
  if (first + piece.size(0) == all) part.scan = scan_of_counts(std::exchange(part.counts, {}));
  return {no_failure()};
}

at::Tensor totals_of(const Scan& scan, const at::Tensor& rows, const at::Tensor& mask) {
  std::vector<at::Tensor> totals;
  for (const at::Tensor& batch : rows.split(kTotalledAtOnce))
    totals.push_back((counts_in_fft_order(scan, batch) * mask).sum({1, 2}, false, at::kDouble));
  return at::cat(totals);
}

RankMessage answer_gradient(const CountsPart& part, const RankMessage& question) {
  const Seen seen = seen_by(part, question);
  const SolverGradient slope = gradient(seen.problem, seen.state, seen.batch, seen.options);
  RankMessage message{no_failure(), at::tensor({slope.loss}, at::kDouble)};
  append_arrays(message, slope);
  return message;
}

RankMessage answer_sights(const CountsPart& part, const RankMessage& question) {
  const Seen seen = seen_by(part, question);
  const at::Tensor& numbers = question.at(seen_arrays());
  const auto whole = [&](std::int64_t index) {
    return static_cast<std::int64_t>(number_at(numbers, index));
  };
  const Sight sight = sight_of(seen.problem, seen.state,
                               {.apart = number_at(numbers, 0),
                                .rows = whole(1),
                                .cols = whole(2),
                                .across = whole(3),
                                .first_row = whole(4),
                                .first_col = whole(5)},
                               seen.options);
  return {no_failure(), sight.index, sight.slope, sight.tilt, sight.information};
}

}  // namespace

Scan scan_of_counts(at::Tensor counts) {
  const std::int64_t patterns = counts.size(0), size = counts.size(1);
  return Scan({.counts = std::move(counts),
               .positions = at::zeros({patterns, 2}, at::kDouble),
               .probe = at::ones({1, size, size}, at::kComplexFloat)});
}

RankMessage ask_to_settle(std::int64_t threads, double memory_bytes) {
  return {whole_numbers({static_cast<std::int64_t>(Question::settle), threads}),
          at::tensor({memory_bytes}, at::kDouble)};
}

RankMessage ask_to_take(const TakenPiece& piece) {
  return {whole_numbers({static_cast<std::int64_t>(Question::take), piece.first, piece.all}),
          piece.counts};
}

RankMessage ask_to_change(const CountsChange& change) {
  return {whole_numbers({static_cast<std::int64_t>(Question::change)}), as_numbers(change)};
}

RankMessage ask_for_type(at::ScalarType type) {
  return {
      whole_numbers({static_cast<std::int64_t>(Question::type), static_cast<std::int64_t>(type)})};
}

RankMessage ask_for_rows(const at::Tensor& rows) { return about_rows(Question::rows, rows); }

RankMessage ask_for_sums() { return about_rows(Question::sums, {}); }

RankMessage ask_for_totals(const at::Tensor& rows, const at::Tensor& mask) {
  RankMessage message = about_rows(Question::totals, rows);
  message.push_back(mask);
  return message;
}

RankMessage ask_for_sum_over(const at::Tensor& rows, double power) {
  RankMessage message = about_rows(Question::sum_over, rows);
  message.push_back(at::tensor({power}, at::kDouble));
  return message;
}

RankMessage ask_for_gradient(const at::Tensor& rows, const SolverProblem& problem,
                             const SolverState& state, const at::Tensor& batch,
                             const GradientOptions& options) {
  return what_is_seen(Question::gradient, rows, problem, state, batch, options);
}

RankMessage ask_for_sights(const at::Tensor& rows, const SolverProblem& problem,
                           const SolverState& state, const at::Tensor& batch,
                           const PhaseNodes& nodes, const GradientOptions& options) {
  RankMessage message = what_is_seen(Question::sights, rows, problem, state, batch, options);
  message.push_back(
      at::tensor({nodes.apart, static_cast<double>(nodes.rows), static_cast<double>(nodes.cols),
                  static_cast<double>(nodes.across), static_cast<double>(nodes.first_row),
                  static_cast<double>(nodes.first_col)},
                 at::kDouble));
  return message;
}

Question asked_in(const RankMessage& question) {
  return static_cast<Question>(whole_number_at(question, 0));
}

RankMessage answer(CountsPart& part, const RankMessage& question) {
  const at::NoGradGuard no_grad;
  const Question asked = asked_in(question);
  if (asked == Question::take) return take(part, question);
  if (asked == Question::settle) return take_settings(question);
  const Scan& scan = part.scan.value();
  switch (asked) {
    case Question::rows:
      return {no_failure(), counts_of(scan, question.at(1))};
    case Question::sums:
      return {no_failure(), sums_of_patterns(scan.counts())};
    case Question::totals:
      return {no_failure(), totals_of(scan, question.at(1), question.at(2))};
    case Question::sum_over: {
      const at::Tensor& rows = question.at(1);
      const at::Tensor mean = mean_pattern(scan, rows, number_at(question.at(2), 0));
      return {no_failure(), mean * rows.size(0)};
    }
    case Question::change:
      return changed(part, changed_counts(scan.counts(), counts_change_of(question.at(1))));
    case Question::type:
      return changed(part,
                     scan.counts().to(static_cast<at::ScalarType>(whole_number_at(question, 1))));
    case Question::gradient:
      return answer_gradient(part, question);
    case Question::sights:
      return answer_sights(part, question);
    default:
      return answer_projections(part, question);
  }
}

RankMessage failure_answer(const std::exception& error) {
  const std::string text =
      fmt::format("rank {} of {} on {}: {}", ranks().own, ranks().all, ranks().host, error.what());
  return {as_bytes(text)};
}

std::string failure_in(const RankMessage& answer) { return as_text(answer.at(0)); }

const at::Tensor& array_of(const RankMessage& answer) { return answer.at(1); }

SolverGradient gradient_of(const RankMessage& answer) {
  SolverGradient found;
  found.loss = number_at(answer.at(1), 0);
  take_arrays(answer, 2, found);
  return found;
}

Sight sights_of(const RankMessage& answer) {
  return {answer.at(1), answer.at(2), answer.at(3), answer.at(4)};
}

}  // namespace ptyche
