// Frames and positions that belong together, found by index and never by order of arrival.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptyche/live/message.h"

namespace ptyche {

/// Frames in the order in which they came, in memory up to a limit and beyond it in files that the
/// system may take out of memory; the files are gone when the program ends.
class FrameStore {
 public:
  /// folder      for the files; empty = the system's temporary folder
  /// most_bytes  in memory
  FrameStore(std::filesystem::path folder, std::int64_t most_bytes);

  /// Keeps the frame (rows, cols); returns its number, from 0.
  std::int64_t add(const at::Tensor& frame);
  const at::Tensor& frame(std::int64_t number) const {
    return frames_[static_cast<std::size_t>(number)];
  }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t bytes_on_disk() const { return on_disk_; }

 private:
  at::Tensor mapped(const at::Tensor& frame);
  std::filesystem::path folder_;
  std::vector<at::Tensor> frames_;
  std::int64_t bytes_ = 0, on_disk_ = 0, most_bytes_;
  at::Tensor block_;  // bytes of the newest file, mapped into memory
  std::int64_t block_used_ = 0;
};

/// What came, and what did not.
struct JoinCounts {
  std::int64_t frames = 0, positions = 0;  ///< different indices
  std::int64_t joined = 0;
  std::int64_t repeated_frames = 0, repeated_positions = 0;
  std::int64_t different_frames = 0;     ///< repeated, but not the same counts
  std::int64_t different_positions = 0;  ///< repeated, but elsewhere
  std::int64_t other_series = 0;         ///< frames of another series than the first one
  std::int64_t other_shape = 0;          ///< frames of another size than the first one
  std::int64_t damaged_messages = 0;     ///< that could not be read
};

/// As an object with these names, for the page and for live.json.
nlohmann::ordered_json to_json(const JoinCounts& counts);

/// One pattern whose position is known.
struct JoinedFrame {
  std::int64_t index = 0;
  std::int64_t number = 0;  ///< in the store
  double row = 0, col = 0;  ///< as they were sent
  bool metres = false;
  double came = 0;  ///< when the later of the two came in, s
};

/// Joins by index. The first frame and the first position of an index are kept, whatever comes
/// later under the same index is counted. The result is the same for every order of arrival, as
/// long as nothing is repeated with another content.
class Joiner {
 public:
  Joiner(std::filesystem::path folder, std::int64_t most_bytes);

  void add(const SeriesStart& start);
  /// The pattern, if its position is known by now.
  std::optional<JoinedFrame> add(const FrameMessage& frame);
  /// Those patterns that were only waiting for these positions.
  std::vector<JoinedFrame> add(const PositionsMessage& positions, double now);
  void add(const DamagedMessage&) { ++counts_.damaged_messages; }

  const JoinCounts& counts() const { return counts_; }
  const FrameStore& store() const { return store_; }
  /// The series that is taken: the first one that began or sent a frame; nothing before that.
  std::optional<std::int64_t> series() const { return series_; }
  /// How many frames the series says that it has, or one more than the largest index that came.
  std::int64_t expected() const;
  /// Whether every frame that is expected came and has its position.
  bool complete() const { return expected_ > 0 && counts_.joined >= expected_; }
  /// (rows, cols) of the frames; 0 before the first one.
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  double ceiling() const { return ceiling_; }

  /// All joined patterns by index.
  std::vector<JoinedFrame> joined() const;
  /// Indices that are expected and never came; frames without a position; positions without a
  /// frame: ascending.
  std::vector<std::int64_t> missing_frames() const, without_position() const, without_frame() const;

 private:
  struct Place {
    double row = 0, col = 0;
    bool metres = false;
    double came = 0;
  };
  JoinedFrame pair(std::int64_t index, std::int64_t number, const Place& place) const;

  FrameStore store_;
  JoinCounts counts_;
  std::optional<std::int64_t> series_;
  std::int64_t expected_ = 0, largest_ = -1, rows_ = 0, cols_ = 0;
  double ceiling_ = 0;
  std::unordered_map<std::int64_t, std::pair<std::int64_t, double>> frames_;  // number, time
  std::unordered_map<std::int64_t, Place> places_;
};

/// "3, 7-9, 12": runs of numbers, at most `most` of them, then how many more.
std::string ranges_text(const std::vector<std::int64_t>& ascending, std::size_t most = 40);

}  // namespace ptyche
