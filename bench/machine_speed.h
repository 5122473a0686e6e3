// What this machine can do with the threads that LibTorch has now.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "ptyche/core/progress.h"

namespace ptyche {

/// Seconds of the fastest of at least 5 calls in `budget` seconds: other work on the machine can
/// only slow a call down.
inline double fastest_seconds(const std::function<void()>& work, double budget = 1) {
  double best = std::numeric_limits<double>::infinity(), passed = 0;
  for (int calls = 0; calls < 5 || passed < budget; ++calls) {
    const double seconds = seconds_of(work);
    best = std::min(best, seconds);
    passed += seconds;
  }
  return best;
}

/// float32 GFLOP/s of a product of large matrices, and GB/s of a copy; each measured for about 1 s.
inline double measure_gflops() {
  constexpr std::int64_t side = 2048;
  const at::Tensor a = at::rand({side, side}), b = at::rand({side, side});
  return 2.0 * std::pow(side, 3) / fastest_seconds([&] { at::mm(a, b); }) * 1e-9;
}

inline double measure_gigabytes() {
  const at::Tensor from = at::rand({1 << 26}), to = at::empty_like(from);
  return 2.0 * 4 * (1 << 26) / fastest_seconds([&] { to.copy_(from); }) * 1e-9;
}

}  // namespace ptyche
