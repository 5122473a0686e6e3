#include "ptyche/io/narrow_patterns.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "ptyche/core/error.h"
#include "ptyche/io/pattern_values.h"
#include "ptyche/storage/file_array.h"

namespace ptyche {
namespace {

constexpr std::int64_t kCachedBytes = std::int64_t{512} << 10;
/// Frames of a chunk that is larger than this are not read by every core at once.
constexpr std::int64_t kLargestPiece = std::int64_t{32} << 20;

/// For fewer than one frame in so many it does not pay to look up where all of them lie.
constexpr std::int64_t kFewOf = 16;

/// Neighbouring frames of the file, and where they go.
struct Piece {
  std::int64_t first, count, to;
};

/// Of `frames_each`, begun at a multiple of that: no chunk is unpacked twice.
std::vector<Piece> pieces_of(const std::vector<Run>& runs, std::int64_t frames_each) {
  std::vector<Piece> pieces;
  std::int64_t to = 0;
  for (const Run& run : runs)
    for (std::int64_t first = run.first, end = run.first + run.count; first < end;) {
      const std::int64_t count = std::min(frames_each - first % frames_each, end - first);
      pieces.push_back({first, count, to});
      first += count;
      to += count;
    }
  return pieces;
}

/// What is read, and how its values are looked at.
struct Reading {
  const FrameStack& stack;
  Window window;
  NarrowRules narrow;
  ValueRules values;
  std::vector<Piece> pieces;

  at::Tensor piece(const Piece& piece) const {
    at::Tensor values = at::empty({piece.count, window.rows(), window.cols()}, stack.shape().type);
    stack.read(piece.first, window, values);
    return values;
  }
};

/// By the first, the middle and the last piece.
CountRules guessed_rules(const Reading& reading) {
  const std::vector<Piece>& pieces = reading.pieces;
  ValueSurvey values;
  for (const std::size_t i : {std::size_t{0}, pieces.size() / 2, pieces.size() - 1})
    values.add(survey(reading.piece(pieces[i]), reading.values, reading.narrow.may_be_roots));
  if (!values.valid) return {};
  return count_rules(values, reading.narrow.may_be_roots && !values.whole && values.are_roots());
}

bool are_counts(const ValueSurvey& found, const CountRules& how, double ceiling) {
  const bool below = ceiling <= 0 || found.largest < ceiling;
  return found.valid && below && (how.square ? found.whole_squares : found.whole) &&
         at::isIntegralType(count_rules(found, how.square).type, false);
}

/// All pieces into `counts`; what was found in those that were looked at. `good` says whether all
/// of them fit.
ValueSurvey read_pieces(const Reading& reading, const CountRules& how, const at::Tensor& counts,
                        std::atomic<bool>& good) {
  ValueSurvey all;
  std::mutex adding;
  on_all_cores(static_cast<std::int64_t>(reading.pieces.size()), [&](std::int64_t i) {
    if (!good) return;
    const Piece& piece = reading.pieces[static_cast<std::size_t>(i)];
    const at::Tensor values = reading.piece(piece);
    const ValueSurvey found = survey(values, reading.values, how.square);
    const bool fits =
        are_counts(found, how, reading.narrow.ceiling) &&
        at::elementSize(count_rules(found, how.square).type) <= at::elementSize(how.type);
    if (fits)
      convert_into(values, reading.values, how, counts.narrow(0, piece.to, piece.count));
    else
      good = false;
    const std::lock_guard lock(adding);
    all.add(found);
  });
  return all;
}

/// Once more with a wider type where a pattern is brighter than those that the type was chosen by.
std::optional<NarrowPatterns> read_as(const Reading& reading, CountRules how, std::int64_t frames) {
  const std::vector<std::int64_t> sizes{frames, reading.window.rows(), reading.window.cols()};
  for (;;) {
    checked_bytes(sizes, static_cast<std::int64_t>(at::elementSize(how.type)));
    const at::Tensor counts = at::empty(sizes, how.type);
    use_large_pages(counts);
    std::atomic<bool> good = true;
    const ValueSurvey found = read_pieces(reading, how, counts, good);
    if (good) return NarrowPatterns{counts, how.square};
    if (!are_counts(found, how, reading.narrow.ceiling)) return std::nullopt;
    how = count_rules(found, how.square);
  }
}

}  // namespace

std::optional<NarrowPatterns> read_narrow(FrameStack& stack, const at::Tensor& numbers,
                                          const Window& window, const NarrowRules& rules) {
  const StackShape& shape = stack.shape();
  const std::int64_t frame = window.rows() * window.cols() * shape.item_bytes();
  const bool worth_it = kFewOf * numbers.size(0) >= shape.frames && frame > 0;
  const std::int64_t together = worth_it ? stack.read_together() : 0;
  if (together == 0 || together * frame > std::max(kLargestPiece, frame)) return std::nullopt;
  const std::int64_t chunks = std::max<std::int64_t>(1, kCachedBytes / (frame * together));
  Reading reading{stack, window, rules, {at::ones({window.rows(), window.cols()}, at::kBool)}, {}};
  reading.pieces = pieces_of(checked_runs(stack, numbers), together * chunks);
  const CountRules how = guessed_rules(reading);
  if (how.type == at::kFloat) return std::nullopt;
  auto narrow = read_as(reading, how, numbers.size(0));
  if (narrow && numbers.size(0) == shape.frames) stack.check();
  return narrow;
}

}  // namespace ptyche
