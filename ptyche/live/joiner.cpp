#include "ptyche/live/joiner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/memory.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBlockBytes = std::int64_t{64} << 20;
constexpr std::int64_t kAlignment = 64;

}  // namespace

FrameStore::FrameStore(fs::path folder, std::int64_t most_bytes)
    : folder_(folder.empty() ? fs::temp_directory_path() : std::move(folder)),
      most_bytes_(most_bytes) {}

at::Tensor FrameStore::mapped(const at::Tensor& frame) {
  const auto bytes = static_cast<std::int64_t>(frame.nbytes());
  if (!block_.defined() || block_used_ + bytes > block_.numel()) {
    block_ = array_in_file(folder_, std::max(kBlockBytes, bytes));
    block_used_ = 0;
  }
  const at::Tensor place = block_.narrow(0, block_used_, bytes);
  block_used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  on_disk_ += bytes;
  at::Tensor there = place.view(frame.scalar_type()).view(frame.sizes());
  there.copy_(frame);
  return there;
}

std::int64_t FrameStore::add(const at::Tensor& frame) {
  const auto bytes = static_cast<std::int64_t>(frame.nbytes());
  const bool fits = bytes_ - on_disk_ + bytes <= most_bytes_;
  frames_.push_back(fits ? frame : mapped(frame.contiguous()));
  bytes_ += bytes;
  return static_cast<std::int64_t>(frames_.size()) - 1;
}

nlohmann::ordered_json to_json(const JoinCounts& counts) {
  return {{"frames", counts.frames},
          {"positions", counts.positions},
          {"joined", counts.joined},
          {"repeated_frames", counts.repeated_frames},
          {"repeated_positions", counts.repeated_positions},
          {"different_frames", counts.different_frames},
          {"different_positions", counts.different_positions},
          {"other_series", counts.other_series},
          {"other_shape", counts.other_shape},
          {"damaged_messages", counts.damaged_messages}};
}

Joiner::Joiner(fs::path folder, std::int64_t most_bytes) : store_(std::move(folder), most_bytes) {}

void Joiner::add(const SeriesStart& start) {
  if (!series_) series_ = start.series;
  if (*series_ == start.series && start.frames > 0 && start.frames <= kLargestIndex)
    expected_ = start.frames;
}

JoinedFrame Joiner::pair(std::int64_t index, std::int64_t number, const Place& place) const {
  return {index, number, place.row, place.col, place.metres, place.came};
}

std::optional<JoinedFrame> Joiner::add(const FrameMessage& frame) {
  if (!series_) series_ = frame.series;
  if (frame.series != *series_) return ++counts_.other_series, std::nullopt;
  if (frame.index < 0 || frame.index > kLargestIndex)
    return ++counts_.damaged_messages, std::nullopt;
  if (rows_ == 0) rows_ = frame.counts.size(0), cols_ = frame.counts.size(1);
  if (frame.counts.size(0) != rows_ || frame.counts.size(1) != cols_)
    return ++counts_.other_shape, std::nullopt;
  if (const auto known = frames_.find(frame.index); known != frames_.end()) {
    ++counts_.repeated_frames;
    const at::Tensor& kept = store_.frame(known->second.first);
    if (!at::equal(kept.to(at::kDouble), frame.counts.to(at::kDouble))) ++counts_.different_frames;
    return std::nullopt;
  }
  const std::int64_t number = store_.add(frame.counts);
  frames_[frame.index] = {number, frame.sent};
  ++counts_.frames;
  largest_ = std::max(largest_, frame.index);
  ceiling_ = std::max(ceiling_, frame.ceiling);
  const auto place = places_.find(frame.index);
  if (place == places_.end()) return std::nullopt;
  ++counts_.joined;
  place->second.came = frame.sent;
  return pair(frame.index, number, place->second);
}

std::vector<JoinedFrame> Joiner::add(const PositionsMessage& message, double now) {
  std::vector<JoinedFrame> found;
  const auto values = message.positions.accessor<double, 2>();
  for (std::int64_t i = 0; i < values.size(0); ++i) {
    const std::int64_t index = message.first + i;
    const Place place{values[i][0], values[i][1], message.metres, now};
    const auto [known, is_new] = places_.try_emplace(index, place);
    if (!is_new) {
      ++counts_.repeated_positions;
      const Place& kept = known->second;
      if (kept.row != place.row || kept.col != place.col) ++counts_.different_positions;
      continue;
    }
    ++counts_.positions;
    largest_ = std::max(largest_, index);
    const auto frame = frames_.find(index);
    if (frame == frames_.end()) continue;
    ++counts_.joined;
    found.push_back(pair(index, frame->second.first, place));
  }
  return found;
}

std::int64_t Joiner::expected() const { return std::max(expected_, largest_ + 1); }

std::vector<JoinedFrame> Joiner::joined() const {
  std::vector<JoinedFrame> all;
  for (const auto& [index, frame] : frames_)
    if (const auto place = places_.find(index); place != places_.end())
      all.push_back(pair(index, frame.first, place->second));
  std::ranges::sort(all, {}, &JoinedFrame::index);
  return all;
}

namespace {

template <class Here, class There>
std::vector<std::int64_t> only_in(const Here& here, const There& there) {
  std::vector<std::int64_t> found;
  for (const auto& [index, value] : here)
    if (!there.contains(index)) found.push_back(index);
  std::ranges::sort(found);
  return found;
}

/// More than this are not listed one by one.
constexpr std::int64_t kMostListed = 10'000'000;

}  // namespace

std::vector<std::int64_t> Joiner::missing_frames() const {
  std::vector<std::int64_t> missing;
  for (std::int64_t index = 0; index < std::min(expected(), kMostListed); ++index)
    if (!frames_.contains(index)) missing.push_back(index);
  return missing;
}
std::vector<std::int64_t> Joiner::without_position() const { return only_in(frames_, places_); }
std::vector<std::int64_t> Joiner::without_frame() const { return only_in(places_, frames_); }

std::string ranges_text(const std::vector<std::int64_t>& ascending, std::size_t most) {
  std::vector<std::string> runs;
  for (std::size_t first = 0, last = 0; first < ascending.size(); first = last) {
    for (last = first + 1; last < ascending.size() && ascending[last] == ascending[last - 1] + 1;)
      ++last;
    runs.push_back(last - first == 1 ? fmt::format("{}", ascending[first])
                                     : fmt::format("{}-{}", ascending[first], ascending[last - 1]));
  }
  const std::size_t shown = std::min(most, runs.size());
  std::string text = fmt::format(
      "{}", fmt::join(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < runs.size()) text += fmt::format(" and {} runs more", runs.size() - shown);
  return text;
}

}  // namespace ptyche
