#include "ptyche/core/stopwatch.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ptyche {

double seconds_of(const std::function<void()>& work) {
  const Stopwatch watch;
  work();
  return watch.seconds();
}

double fastest_seconds(const std::function<void()>& work, double budget) {
  double best = std::numeric_limits<double>::infinity(), passed = 0;
  for (int calls = 0; calls < 5 || passed < budget; ++calls) {
    const double seconds = seconds_of(work);
    best = std::min(best, seconds);
    passed += seconds;
  }
  return best;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double measure_gflops() {
  constexpr std::int64_t side = 2048;
  const at::Tensor a = at::rand({side, side}), b = at::rand({side, side});
  return 2.0 * std::pow(side, 3) / fastest_seconds([&] { at::mm(a, b); }) * 1e-9;
}

double measure_gigabytes() {
  const at::Tensor from = at::rand({1 << 26}), to = at::empty_like(from);
  return 2.0 * 4 * (1 << 26) / fastest_seconds([&] { to.copy_(from); }) * 1e-9;
}

}  // namespace ptyche
