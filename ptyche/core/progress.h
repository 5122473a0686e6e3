// Progress of long work: a bar on a terminal, one line a minute elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace ptyche {

/// Shows "what  [####....] 12/60  rate  time left  detail" on stderr, rate and time from the second
/// step on. Construct, call `step` as
/// work is done, and let it go out of scope (or call `finish`) to end the line.
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
  void step(std::int64_t done, std::int64_t units, const std::string& detail);
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  /// Rate and time left; empty at the first step, before which it is not known what was done.
  std::string pace(std::int64_t done, std::int64_t units) const;
  void print(std::int64_t done, std::int64_t units, const std::string& detail);
  std::string what_, unit_;
  std::int64_t total_, first_done_ = -1, first_units_ = 0;
  bool terminal_, line_open_ = false;
  Clock::time_point start_, last_;
};

/// "45 s", "3 min 20 s", "2 h 5 min".
std::string format_duration(double seconds);

}  // namespace ptyche
