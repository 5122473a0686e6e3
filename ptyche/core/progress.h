// Long work: how far it is, how long it takes, and how it is interrupted.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ptyche/core/messages.h"

namespace ptyche {

/// Shows "what  [####....] 12/60  rate  time left  detail", rate and time from the second step on:
/// on a terminal a bar that is gone when the work is done, elsewhere a line a minute; the first and
/// the last step are for those who want to follow (--verbose, --log). Construct, call `step` as
/// work is done, and let it go out of scope (or call `finish`).
class Progress {
 public:
  /// total  steps of the whole work, >= 1
  /// unit   what `rate` counts, e.g. "patterns"
  Progress(std::string what, std::int64_t total, std::string unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// done    steps finished so far, 0..total (may start above 0 when work is resumed)
  /// units   units of work finished so far, for the rate
  /// detail  short text, e.g. "loss 1.23"
  /// loss    per photon, for who listens to events; NaN = none
  void step(std::int64_t done, std::int64_t units, const std::string& detail,
            double loss = std::numeric_limits<double>::quiet_NaN());
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  /// Units a second and seconds left; nothing at the first step, before which it is not known what
  /// was done.
  struct Pace {
    double rate = 0, seconds_left = 0;
  };
  std::optional<Pace> pace(std::int64_t done, std::int64_t units) const;
  void send(std::int64_t done, std::int64_t units, const std::string& detail, double loss) const;
  std::string line(std::int64_t done, std::int64_t units, const std::string& detail) const;
  std::string what_, unit_;
  std::int64_t total_, first_done_ = -1, first_units_ = 0;
  bool terminal_;
  Clock::time_point start_, drawn_, said_, sent_;
};

/// "45 s", "3 min 20 s", "2 h 5 min".
std::string format_duration(double seconds);

/// While one lives, SIGINT, SIGTERM and SIGHUP (unless nohup has it ignored) are remembered instead
/// of ending the program; a second SIGINT or SIGTERM ends it at once. A dropped connection may send
/// SIGHUP more than once: it never does. Put one around a loop that asks `interrupted`, and around
/// nothing else: where nobody asks, a signal must end the program. One may live inside another.
class CatchInterrupts {
 public:
  CatchInterrupts();
  ~CatchInterrupts();
  CatchInterrupts(const CatchInterrupts&) = delete;
  CatchInterrupts& operator=(const CatchInterrupts&) = delete;

 private:
  using Handler = void (*)(int);
  Handler interrupt_, terminate_, hang_up_;  // those before
};

/// True once a signal was remembered, and from then on. Loops ask after every step, save their
/// state and throw Interrupted.
bool interrupted();

/// Runs from when it is made.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Seconds of one call.
inline double seconds_of(const std::function<void()>& work) {
  const Stopwatch watch;
  work();
  return watch.seconds();
}

/// The middle one of some numbers, at least one.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace ptyche
