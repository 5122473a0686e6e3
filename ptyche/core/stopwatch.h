// How long work takes, and what the machine could do.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

namespace ptyche {

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
double seconds_of(const std::function<void()>& work);

/// Seconds of the fastest of at least 5 calls in `budget` seconds: other work on the machine can
/// only slow a call down.
double fastest_seconds(const std::function<void()>& work, double budget = 1);

/// The middle one of some numbers, at least one.
double median(std::vector<double> values);

/// What this machine can do with the threads that LibTorch has now, each measured for about 1 s:
/// float32 GFLOP/s of a product of large matrices, GB/s of a copy.
double measure_gflops();
double measure_gigabytes();

}  // namespace ptyche
