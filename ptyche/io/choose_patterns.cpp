#include "ptyche/io/choose_patterns.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/io/raster.h"
#include "ptyche/storage/frame_stack.h"

namespace ptyche {
namespace {

/// Missing numbers that are listed.
constexpr std::size_t kMostGaps = 20;

std::int64_t frame_number(const std::string& word, std::int64_t otherwise, std::int64_t frames) {
  if (word.empty()) return otherwise;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  require(error == std::errc() && end == word.data() + word.size(),
          "--frames: expected FIRST:END[:STEP], several with commas, found {}", word);
  return std::clamp<std::int64_t>(number < 0 ? number + frames : number, 0, frames);
}

at::Tensor numbers_of_range(const std::string& text, std::int64_t all) {
  const std::vector<std::string> words = split(text, ':');
  require(words.size() == 2 || words.size() == 3,
          "--frames: expected FIRST:END[:STEP], several with commas, found {}", text);
  const std::int64_t first = frame_number(words[0], 0, all), end = frame_number(words[1], all, all);
  const bool backwards = words.size() == 3 && words[2].starts_with('-');
  const std::int64_t step = words.size() == 3 ? frame_number(words[2], 1, all) : 1;
  require(!backwards && step >= 1 && first < end,
          "--frames {}: expected some of {} patterns, found none", text, all);
  return at::arange(first, end, step, at::kLong);
}

/// Of all ranges, each pattern once, ascending.
at::Tensor numbers_of_frames(const std::string& text, std::int64_t all) {
  std::vector<at::Tensor> ranges;
  for (const std::string& range : split(text, ',')) ranges.push_back(numbers_of_range(range, all));
  return std::get<0>(at::_unique(at::cat(ranges)));
}

/// A raster's rows, where so many patterns more than positions are `flyback` at the end of each;
/// 0 = they are not.
std::int64_t rows_with_flyback(const at::Tensor& positions, std::int64_t patterns,
                               std::int64_t flyback) {
  constexpr double kInLine = 0.25;  // spread across a row, over the least way to the next
  const std::int64_t count = positions.size(0), more = patterns - count;
  if (more <= 0 || more % flyback != 0) return 0;
  const std::int64_t rows = more / flyback;
  if (rows < 2 || count % rows != 0 || count / rows < 2 * flyback) return 0;
  const at::Tensor places = positions.reshape({rows, count / rows, 2});
  for (const int across : {0, 1}) {
    const at::Tensor lines = places.select(2, across);
    const double within = lines.std(1).mean().item<double>();
    const double to_next = lines.mean(1).diff().abs().min().item<double>();
    if (within < kInLine * to_next) return rows;
  }
  return 0;
}

/// The options that would make patterns as many as positions, the most likely first.
std::vector<std::string> offers_for(const RawScan& raw) {
  constexpr std::int64_t kMostFlyback = 16;
  const std::int64_t patterns = raw.frames(), positions = raw.positions.size(0);
  std::vector<std::string> offers;
  for (std::int64_t back = 1; back <= kMostFlyback && offers.empty(); ++back)
    if (const std::int64_t rows = rows_with_flyback(raw.positions, patterns, back); rows > 0)
      offers.push_back(fmt::format(
          "--flyback {} leaves out the last {} patterns of each of {} rows", back, back, rows));
  if (const std::int64_t each = exposures_of(positions, patterns); each > 0)
    offers.push_back(
        fmt::format("--exposures {} sums the {} patterns of each position", each, each));
  if (patterns < positions && may_belong(positions, patterns))
    offers.push_back(fmt::format("--frames 0:{} takes the first {} of both", patterns, patterns));
  if (patterns > positions && positions > 0)
    offers.push_back(
        fmt::format("--frames 0:{} takes the first {} patterns, --frames {}:{} the last", positions,
                    positions, patterns - positions, patterns));
  if (patterns == 2 * positions) offers.push_back("--frames ::2 every other one");
  if (raw.positions_name.starts_with("raster")) offers.push_back("or is --scan-shape another one?");
  return offers;
}

/// Of a series the numbers that no file has, between the first and the last.
std::vector<std::int64_t> gaps_in(const std::vector<std::int64_t>& numbers) {
  std::vector<std::int64_t> gaps;
  for (std::size_t i = 1; i < numbers.size(); ++i)
    for (std::int64_t number = numbers[i - 1] + 1; number < numbers[i]; ++number)
      gaps.push_back(number);
  return gaps;
}

/// Nothing tells which belong to each other: one pattern too many may be the first or the last.
[[noreturn]] void refuse_other_number(const RawScan& raw) {
  const std::vector<std::int64_t> numbers =
      raw.stack ? raw.stack->shape().numbers : std::vector<std::int64_t>{};
  const std::vector<std::int64_t> gaps = gaps_in(numbers);
  const std::string text = fmt::format("{}: expected as many positions as patterns, {}, found {}",
                                       raw.positions_name, raw.frames(), raw.positions.size(0));
  if (raw.positions.size(0) > raw.frames() && !gaps.empty() && gaps.size() <= kMostGaps)
    throw InvalidInput(
        fmt::format("{}; the series has no number {}: leave the positions of these "
                    "out, too",
                    text, fmt::join(gaps, ", ")));
  throw InvalidInput(fmt::format("{}; {}", text, fmt::join(offers_for(raw), "; ")));
}

/// Positions of the patterns `numbers`, where the file has more or fewer than patterns. Of fewer,
/// all must be meant: part of the patterns would not say whether the first or the last are too
/// many.
at::Tensor positions_of_frames(const RawScan& raw, const at::Tensor& numbers) {
  const std::int64_t positions = raw.positions.size(0), patterns = raw.frames();
  require(patterns < positions || numbers.size(0) == positions,
          "--frames: expected the {} of {} patterns that have a position ({}), found {}", positions,
          patterns, raw.positions_name, numbers.size(0));
  const bool all = numbers.size(0) == positions;
  warn("{} patterns, {} positions ({}): {}, as --frames says", patterns, positions,
       raw.positions_name,
       all ? fmt::format("the first position is taken for that of pattern {}",
                         numbers[0].item<std::int64_t>())
           : "each pattern has the position of its number");
  return all ? raw.positions : raw.positions.index_select(0, numbers);
}

/// A table that is laid out for more points than were measured: those that are numbers, if they are
/// as many as patterns.
void drop_empty_places(RawScan& raw) {
  const at::Tensor there = at::nonzero(at::isfinite(raw.positions).all(1)).flatten();
  if (there.size(0) != raw.frames()) return;
  note("{}: {} of {} positions are no numbers: the others are those of the {} patterns",
       raw.positions_name, raw.positions.size(0) - there.size(0), raw.positions.size(0),
       raw.frames());
  raw.positions = raw.positions.index_select(0, there);
  raw.true_positions = at::Tensor();
}

/// Of a series with gaps each pattern has the position of its number, counted from 0 or 1: from
/// which of them on the last pattern has the last position. False where that does not come out.
bool place_by_number(RawScan& raw) {
  if (!raw.stack || raw.chosen.defined() || raw.stack->shape().numbers.empty()) return false;
  const std::vector<std::int64_t>& numbers = raw.stack->shape().numbers;
  const std::int64_t first = numbers.front(), last = numbers.back();
  const std::int64_t positions = raw.positions.size(0);
  const bool from_start = first <= 1 && gaps_in(numbers).empty();
  const std::int64_t base = last + 1 - positions;  // the number of the first position
  if (from_start || base < 0 || base > 1 || first < base) return false;
  std::vector<std::int64_t> missing = gaps_in(numbers);
  for (std::int64_t number = first; number-- > base;) missing.insert(missing.begin(), number);
  warn(
      "{} patterns, {} positions ({}): the series has no number {}; each pattern has the position "
      "of its number",
      raw.frames(), positions, raw.positions_name,
      fmt::join(missing.begin(), missing.begin() + std::min(kMostGaps, missing.size()), ", "));
  raw.positions = raw.positions.index_select(0, at::tensor(numbers, at::kLong) - base);
  raw.true_positions = at::Tensor();
  return true;
}

}  // namespace

void sum_exposures(RawScan& raw, const ReadOptions& options) {
  const std::int64_t count = options.exposures;
  if (count == 1) return;
  require(raw.domain != Domain::amplitude && options.domain != "amplitude",
          "--exposures: expected counts, which add up, found {}", "amplitudes");
  require(!raw.chosen.defined(), "--exposures: expected one scan in the file, found {}", "several");
  const std::int64_t frames = raw.frames(), positions = raw.positions.size(0);
  require(frames % count == 0 && (positions * count == frames || positions == frames),
          "--exposures {}: expected {} patterns for {} positions, found {}", count,
          count * positions, positions, frames);
  const std::vector<std::int64_t> lengths = raw.stack ? raw.stack->shape().raster : raw.raster;
  const bool sweeps = lengths.size() == 2 && lengths[0] == count && lengths[1] == frames / count &&
                      count < lengths[1];
  if (raw.stack) {
    raw.stack = summed_stack(std::move(raw.stack), count, sweeps);
    raw.ceiling = raw.stack->shape().ceiling;
  } else {
    const std::vector<std::int64_t> shape{sweeps ? count : frames / count,
                                          sweeps ? frames / count : count, raw.rows(), raw.cols()};
    const auto type = raw.patterns.is_floating_point() ? raw.patterns.scalar_type() : at::kLong;
    raw.patterns = raw.patterns.reshape(shape).sum(sweeps ? 0 : 1, false, type);
    raw.ceiling = 0;
  }
  if (positions == frames)
    raw.positions = sweeps ? raw.positions.view({count, -1, 2}).mean(0)
                           : raw.positions.view({-1, count, 2}).mean(1);
  raw.true_positions = raw.scan_index = raw.monitor = at::Tensor();
  raw.raster.clear();
  note("{} patterns are sums of {} exposures of {}", raw.frames(), count,
       sweeps ? "as many sweeps" : "one position after the other");
}

void choose_patterns(RawScan& raw, const std::string& text) {
  if (raw.positions.size(0) > raw.frames()) drop_empty_places(raw);
  if (raw.positions.size(0) > raw.frames() && text.empty() && place_by_number(raw)) return;
  const std::int64_t all = raw.frames();
  const bool one_each = raw.positions.size(0) == all;
  if (text.empty() && !one_each) refuse_other_number(raw);
  if (text.empty()) return;
  const at::Tensor numbers = numbers_of_frames(text, all);
  if (!one_each) {
    raw.positions = positions_of_frames(raw, numbers);
    raw.true_positions = at::Tensor();  // nothing says which of them belong to these patterns
  }
  raw.keep(numbers);
  note("{} of {} patterns are taken", raw.frames(), all);
}

}  // namespace ptyche
