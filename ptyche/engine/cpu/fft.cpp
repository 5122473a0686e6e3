// What a one-dimensional FFT of one length needs to know: radices, twiddle factors, output order.
#include <cmath>
#include <map>
#include <mutex>
#include <vector>

#include "ptyche/engine/cpu/kernels.h"

namespace ptyche::cpu {
namespace {

/// Their product is the size; 4 first, then 2, 3, 5, other primes.
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
struct FftPlan {
  explicit FftPlan(std::int64_t size);

  FftTables<T> tables;  // pointers into the vectors
  std::vector<T> twiddles, roots;
  std::vector<std::int64_t> order, position;
};

template <class T>
FftPlan<T>::FftPlan(std::int64_t size) {
  const std::vector<std::int64_t> radices = factors(size);
  std::int64_t length = size;
  for (const std::int64_t radix : radices) {
    for (std::int64_t j = 0; j < length / radix; ++j)
      for (std::int64_t q = 1; q < radix; ++q) push_root(twiddles, j * q, length);
    for (std::int64_t q = 0; q < radix; ++q) push_root(roots, q, radix);
    length /= radix;
  }
  order = output_order(radices, 0);
  position.resize(order.size());
  for (std::size_t p = 0; p < order.size(); ++p)
    position[static_cast<std::size_t>(order[p])] = static_cast<std::int64_t>(p);
  const T *twiddle = twiddles.data(), *root = roots.data();
  tables.size = length = size;
  for (const std::int64_t radix : radices) {
    tables.stage[tables.stages++] = {radix, twiddle, root};
    twiddle += 2 * (length / radix) * (radix - 1);
    root += 2 * radix;
    length /= radix;
  }
  tables.order = order.data();
  tables.position = position.data();
}

}  // namespace

bool has_fft(std::int64_t size) { return size >= 2 && factors(size).back() <= kLargestRadix; }

bool has_cheap_fft(std::int64_t size) {
  return size >= 2 && factors(size).back() <= kLargestCheapRadix;
}

template <class T>
const FftTables<T>& fft_tables(std::int64_t size) {
  static std::mutex guard;
  static std::map<std::int64_t, FftPlan<T>> plans;  // nodes stay where they are
  const std::lock_guard lock(guard);
  return plans.try_emplace(size, size).first->second.tables;
}

template const FftTables<float>& fft_tables(std::int64_t);
template const FftTables<double>& fft_tables(std::int64_t);

}  // namespace ptyche::cpu
