// What comes while a scan runs: frames and positions apart, each under its own index, and the
// marks of beginning and end between them; and the queue that carries them from thread to thread.
#pragma once

#include <ATen/ATen.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ptyche/data/scan.h"

namespace ptyche {

/// Indices beyond this are damage or malice: no scan has so many patterns.
inline constexpr std::int64_t kLargestIndex = 1'000'000'000;

/// A series begins. What a sender does not say stays unknown.
struct SeriesStart {
  std::int64_t series = 0;
  std::int64_t frames = 0;        ///< expected; 0 = not known
  Geometry geometry = {};         ///< energy, distance, detector pixel, exposure
  at::Tensor mask = {};           ///< (rows, cols) bool, true = counted; undefined = not said
  at::Tensor probe = {};          ///< (modes, N, N) complex64; undefined = not said
  bool probe_calibrated = false;  ///< the probe is in sqrt(photon)
};

struct FrameMessage {
  std::int64_t series = 0, index = 0;
  at::Tensor counts;   ///< (rows, cols), a real type
  double ceiling = 0;  ///< largest value of the sender's integer type, see FileArray
  double sent = 0;     ///< s since the program's start when it came in, for the lag
};

/// Positions of the patterns first, first + 1, ...
struct PositionsMessage {
  std::int64_t first = 0;
  at::Tensor positions;  ///< (k, 2) float64 (row, col)
  bool metres = false;   ///< else object pixels
};

/// No more frames (or positions) of this series.
struct SeriesEnd {
  std::int64_t series = 0;
  bool of_frames = true;
};

/// What a source could not read, in words: counted, and the first ones said.
struct DamagedMessage {
  std::string why;
};

using LiveMessage =
    std::variant<SeriesStart, FrameMessage, PositionsMessage, SeriesEnd, DamagedMessage>;

/// Bytes that a message holds in memory.
std::int64_t bytes_of(const LiveMessage& message);

/// A queue of bounded size between threads: who puts waits while it is full, who takes while it is
/// empty, and nobody once it is closed. Nothing is ever dropped.
class MessageQueue {
 public:
  explicit MessageQueue(std::int64_t most_bytes) : most_bytes_(most_bytes) {}

  /// False once the queue is closed: the message is not taken.
  bool put(LiveMessage message);
  /// All that is there, after at most `wait`, in their order; at most `most`.
  std::vector<LiveMessage> take(std::chrono::milliseconds wait, std::size_t most);
  void close();
  bool closed() const;
  std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable filled_, emptied_;
  std::deque<LiveMessage> messages_;
  std::int64_t bytes_ = 0, most_bytes_;
  bool closed_ = false;
};

/// A message as it was on the wire or as it stands in a record: its dialect and its parts.
struct RawMessage {
  std::string dialect;  ///< "json", "eiger1", "eiger2"
  std::vector<std::string> parts;
};

}  // namespace ptyche
