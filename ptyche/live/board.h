// What a live run shows, and what it may be told: between the run's threads and whoever looks.
#pragma once

#include <ATen/ATen.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ptyche/data/reconstruction.h"
#include "ptyche/live/joiner.h"

namespace ptyche {

/// An image of what was there at some moment.
struct LiveImage {
  Reconstruction image;
  std::string by;           ///< "network", "single patterns", "solver", "result"
  std::int64_t frames = 0;  ///< that it is made of
  bool partial = false;     ///< more had come, and did not fit into memory
  double seconds = 0;       ///< since the run began
  double deviance = std::numeric_limits<double>::quiet_NaN();  ///< of held-out patterns, per photon
  /// Where images from two starts differ (Verdict::map), or the expected error (Trust::map), over
  /// the contrast: (rows, cols) float32 of the whole object, NaN where that is not known; undefined
  /// = nowhere known.
  at::Tensor trust = {};
};
using SharedImage = std::shared_ptr<const LiveImage>;

/// A point of the curves over time.
struct LivePoint {
  double seconds = 0;
  std::int64_t joined = 0;
  double rate = 0;  ///< joined frames a second
  double network_deviance = std::numeric_limits<double>::quiet_NaN();
  double solver_deviance = std::numeric_limits<double>::quiet_NaN();
  /// Where the correlation of the images of even and of odd patterns falls below half a bit,
  /// cycles per object pixel.
  double half_set_frc = std::numeric_limits<double>::quiet_NaN();
};

/// What the run says of itself.
struct LiveStatus {
  std::string source, state = "waiting";  ///< waiting, running, paused, ending, done
  JoinCounts counts;
  std::int64_t expected = 0, behind = 0, waiting_messages = 0;
  double seconds = 0, rate = 0, lag_seconds = 0;
  std::int64_t bytes_in_memory = 0, bytes_on_disk = 0;
  std::string stopped_by;  ///< the rule or the person that ended it
};

/// For a thread beside the frames': LibTorch's loops in it leave the other cores to them.
void work_on_one_thread();

/// One for a run; every member may be called from any thread.
class LiveBoard {
 public:
  void publish(const LiveStatus& status);
  void publish(SharedImage image, bool is_solver);
  /// A second result, brought onto the one on show, to be seen beside it.
  void publish_other(SharedImage image);
  void publish_pattern(const at::Tensor& counts, std::int64_t index);
  void publish_positions(std::vector<float> rows_and_cols);
  void add(const LivePoint& point);

  /// The image on show: the better of the two by held-out patterns, while neither is known or the
  /// solver's is of a part of the patterns the network's.
  SharedImage shown() const;
  SharedImage network() const;
  SharedImage solver() const;
  SharedImage other() const;
  std::string status_json() const;
  std::string curves_json() const;
  std::vector<float> positions() const;
  /// (counts, index); undefined before the first.
  std::pair<at::Tensor, std::int64_t> pattern() const;

  /// Grows with every change. `wait` returns once it is above `seen`, or after a second.
  std::uint64_t version() const;
  std::uint64_t wait(std::uint64_t seen) const;

  // What viewers with the token may ask for.
  std::atomic<bool> stop{false}, keep{false}, paused{false};

 private:
  /// A text that is made once for all who ask, until what it tells of has changed.
  struct Written {
    std::uint64_t of = 0;
    std::string text = {};
  };
  void changed();
  mutable std::mutex mutex_;
  mutable Written status_text_, curves_text_;
  mutable std::condition_variable changed_;
  std::uint64_t version_ = 1;
  LiveStatus status_;
  SharedImage network_, solver_, other_;
  std::vector<LivePoint> points_;
  std::uint64_t points_added_ = 1;
  std::vector<float> positions_;
  at::Tensor pattern_;
  std::int64_t pattern_index_ = 0;
};

}  // namespace ptyche
