#include "ptyche/engine/cpu/fft_plan.h"

#include <cmath>
#include <map>
#include <mutex>

namespace ptyche::cpu {
namespace {

std::vector<std::int64_t> factors(std::int64_t size) {
  std::vector<std::int64_t> found;
  for (; size % 4 == 0; size /= 4) found.push_back(4);
  for (std::int64_t prime = 2; size > 1; ++prime)
    for (; size % prime == 0; size /= prime) found.push_back(prime);
  return found;
}

template <class T>
void push_root(std::vector<T>& to, std::int64_t power, std::int64_t length) {
  const double angle =
      -2 * M_PI * static_cast<double>(power % length) / static_cast<double>(length);
  to.push_back(static_cast<T>(std::cos(angle)));
  to.push_back(static_cast<T>(std::sin(angle)));
}

/// Frequencies in the rows of a block that stages `stage`.. still have to transform.
std::vector<std::int64_t> output_order(const std::vector<std::int64_t>& radices,
                                       std::size_t stage) {
  if (stage == radices.size()) return {0};
  const std::vector<std::int64_t> inner = output_order(radices, stage + 1);
  std::vector<std::int64_t> order;
  for (std::int64_t q = 0; q < radices[stage]; ++q)
    for (const std::int64_t f : inner) order.push_back(q + radices[stage] * f);
  return order;
}

template <class T>
FftPlan<T> make_fft_plan(std::int64_t size) {
  FftPlan<T> plan{.size = size,
                  .radices = factors(size),
                  .twiddles = {},
                  .roots = {},
                  .order = {},
                  .position = {}};
  std::int64_t length = size;
  for (const std::int64_t radix : plan.radices) {
    for (std::int64_t j = 0; j < length / radix; ++j)
      for (std::int64_t q = 1; q < radix; ++q) push_root(plan.twiddles, j * q, length);
    for (std::int64_t q = 0; q < radix; ++q) push_root(plan.roots, q, radix);
    length /= radix;
  }
  plan.order = output_order(plan.radices, 0);
  plan.position.resize(plan.order.size());
  for (std::size_t p = 0; p < plan.order.size(); ++p)
    plan.position[static_cast<std::size_t>(plan.order[p])] = static_cast<std::int64_t>(p);
  return plan;
}

}  // namespace

bool has_fft_plan(std::int64_t size) {
  const std::vector<std::int64_t> found = factors(size);
  return size >= 2 && found.back() <= kLargestRadix;
}

template <class T>
FftTables<T> FftPlan<T>::tables() const {
  FftTables<T> tables{.size = size,
                      .stages = static_cast<int>(radices.size()),
                      .stage = {},
                      .order = order.data(),
                      .position = position.data()};
  const T *twiddle = twiddles.data(), *root = roots.data();
  std::int64_t length = size;
  for (std::size_t i = 0; i < radices.size(); ++i) {
    const std::int64_t radix = radices[i];
    tables.stage[i] = {radix, twiddle, root};
    twiddle += 2 * (length / radix) * (radix - 1);
    root += 2 * radix;
    length /= radix;
  }
  return tables;
}

template <class T>
const FftPlan<T>& fft_plan(std::int64_t size) {
  static std::mutex guard;
  static std::map<std::int64_t, FftPlan<T>> plans;  // nodes stay where they are
  const std::lock_guard lock(guard);
  const auto found = plans.find(size);
  return found != plans.end() ? found->second
                              : plans.emplace(size, make_fft_plan<T>(size)).first->second;
}

template struct FftPlan<float>;
template struct FftPlan<double>;
template const FftPlan<float>& fft_plan(std::int64_t);
template const FftPlan<double>& fft_plan(std::int64_t);

}  // namespace ptyche::cpu
