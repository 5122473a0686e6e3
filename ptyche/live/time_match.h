// Positions by time: where the axes were when a frame was taken, from samples that come apart.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace ptyche {

/// What the samples on both sides of a frame's time make of it.
enum class Between {
  linear,   ///< on the line between them: axes that move
  nearest,  ///< the nearer one
  before    ///< the earlier one: axes that stand still and say when they have moved
};

/// A frame whose position is known by now.
struct TimedPosition {
  std::int64_t index = 0;
  double x = 0, y = 0;
};

/// Joins frames with the samples of two axes, each with times of its own. As long as the samples of
/// one axis come in the order of their times, the result does not depend on what came when: a frame
/// waits until both axes have a sample of its time or later.
class TimeMatch {
 public:
  /// gap_s  most time between the two samples (linear) or to the one that is taken (nearest,
  ///        before), finite: a frame in a longer gap has no position
  TimeMatch(Between between, double gap_s) : between_(between), gap_s_(gap_s) {}

  /// axis  0 = x, 1 = y. False for a sample that is not later than the one before and another one,
  ///       for times and values that are not finite, and for more than kMostSamples: not taken.
  bool add_sample(int axis, double time, double value);
  void add_frame(std::int64_t index, double time) { waiting_.emplace(time, index); }

  /// Those that are known now, each once. Frames that will never have a position wait no more.
  std::vector<TimedPosition> found();
  /// The same where no more samples will come: the last one counts for all times after it, but not
  /// on a line.
  std::vector<TimedPosition> found_at_end();
  std::size_t waiting() const { return waiting_.size(); }

  static constexpr std::size_t kMostSamples = 10'000'000;

 private:
  struct Sample {
    double time = 0, value = 0;
  };
  bool value_at(const std::vector<Sample>& samples, double time, double& value) const;
  std::vector<TimedPosition> found_before(double limit);

  Between between_;
  double gap_s_;
  std::array<std::vector<Sample>, 2> axes_;
  std::multimap<double, std::int64_t> waiting_;  // by time
};

}  // namespace ptyche
