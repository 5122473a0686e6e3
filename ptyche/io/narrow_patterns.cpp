#include "ptyche/io/narrow_patterns.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include "ptyche/core/error.h"
#include "ptyche/io/pattern_values.h"
#include "ptyche/storage/file_array.h"

namespace ptyche {
namespace {

constexpr std::int64_t kCachedBytes = std::int64_t{512} << 10;
/// Later patterns may be brighter than those that the type is chosen by.
constexpr double kBrighter = 4;

/// Neighbouring frames of the file, and where they go.
struct Piece {
  std::int64_t first, count, to;
};

std::vector<Piece> pieces_of(const std::vector<Run>& runs, std::int64_t frames_each) {
  std::vector<Piece> pieces;
  std::int64_t to = 0;
  for (const Run& run : runs)
    for (std::int64_t done = 0; done < run.count; done += frames_each) {
      const std::int64_t count = std::min(frames_each, run.count - done);
      pieces.push_back({run.first + done, count, to});
      to += count;
    }
  return pieces;
}

at::Tensor read_piece(const FrameStack& stack, const Piece& piece, const Window& window) {
  at::Tensor values = at::empty({piece.count, window.rows(), window.cols()}, stack.shape().type);
  stack.read(piece.first, window, values);
  return values;
}

/// By the first, the middle and the last piece.
CountRules guessed_rules(const FrameStack& stack, const std::vector<Piece>& pieces,
                         const Window& window, const ValueRules& rules, bool may_be_roots) {
  ValueSurvey values;
  for (const std::size_t i : {std::size_t{0}, pieces.size() / 2, pieces.size() - 1})
    values.add(survey(read_piece(stack, pieces[i], window), rules, may_be_roots));
  if (!values.valid) return {};
  const bool roots = may_be_roots && !values.whole && values.whole_squares;
  values.largest *= roots ? std::sqrt(kBrighter) : kBrighter;
  return count_rules(values, roots);
}

bool fits(const ValueSurvey& found, const CountRules& how) {
  if (!found.valid || !(how.square ? found.whole_squares : found.whole)) return false;
  const at::ScalarType own = count_rules(found, how.square).type;
  return at::isIntegralType(own, false) && at::elementSize(own) <= at::elementSize(how.type);
}

/// All pieces into `counts`, nothing where one of them does not fit.
std::optional<ValueSurvey> read_pieces(const FrameStack& stack, const std::vector<Piece>& pieces,
                                       const Window& window, const ValueRules& rules,
                                       const CountRules& how, const at::Tensor& counts) {
  ValueSurvey all;
  std::mutex adding;
  std::atomic<bool> good = true;
  on_all_cores(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t i) {
    if (!good) return;
    const Piece& piece = pieces[static_cast<std::size_t>(i)];
    const at::Tensor values = read_piece(stack, piece, window);
    const ValueSurvey found = survey(values, rules, how.square);
    if (!fits(found, how)) {
      good = false;
      return;
    }
    convert_into(values, rules, how, counts.narrow(0, piece.to, piece.count));
    const std::lock_guard lock(adding);
    all.add(found);
  });
  return good ? std::optional(all) : std::nullopt;
}

}  // namespace

std::optional<NarrowPatterns> read_narrow(const FrameStack& stack, const at::Tensor& numbers,
                                          const Window& window, bool may_be_roots) {
  const StackShape& shape = stack.shape();
  const bool possible = stack.plain() && at::isFloatingType(shape.type) && shape.frame_bytes() > 0;
  if (!possible || numbers.size(0) == 0) return std::nullopt;
  const ValueRules rules{at::ones({window.rows(), window.cols()}, at::kBool)};
  const std::vector<Piece> pieces = pieces_of(
      checked_runs(stack, numbers), std::max<std::int64_t>(1, kCachedBytes / shape.frame_bytes()));
  const CountRules how = guessed_rules(stack, pieces, window, rules, may_be_roots);
  if (how.type == at::kFloat) return std::nullopt;
  const std::vector<std::int64_t> sizes{numbers.size(0), window.rows(), window.cols()};
  checked_bytes(sizes, static_cast<std::int64_t>(at::elementSize(how.type)));
  const at::Tensor counts = at::empty(sizes, how.type);
  const auto all = read_pieces(stack, pieces, window, rules, how, counts);
  if (!all) return std::nullopt;
  if (numbers.size(0) == shape.frames) stack.check();
  return NarrowPatterns{counts.to(count_rules(*all, how.square).type), how.square};
}

}  // namespace ptyche
