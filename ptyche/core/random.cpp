#include "ptyche/core/random.h"

#include <cassert>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kLargestMean = 0x1p62;  // above, a draw might not fit into 64 bits

/// log k! less Stirling's k log k - k + log(2 pi k) / 2; k >= 1, error below 1e-11.
double stirling_error(double k) {
  if (k < 16) {
    double factorial = 1;
    for (int i = 2; i <= k; ++i) factorial *= i;
    return std::log(factorial) - (k * std::log(k) - k + 0.5 * std::log(2 * kPi * k));
  }
  const double square = k * k;
  return (1.0 / 12 - (1.0 / 360 - 1.0 / (1260 * square)) / square) / k;
}

/// log of the Poisson probability of k, in the saddle-point form (Loader 2000): it keeps its digits
/// at large means, where -mean + k log(mean) - log k! is a small difference of large numbers.
double log_poisson(double k, double mean) {
  if (k == 0) return -mean;
  const double excess = (k - mean) / mean;
  const double divergence = mean * ((1 + excess) * std::log1p(excess) - excess);
  return -divergence - 0.5 * std::log(2 * kPi * k) - stirling_error(k);
}

/// Counts the exponential waiting times that fit into `mean` (Knuth, TAOCP 2, 3.4.1); exact.
std::int64_t poisson_by_multiplication(double mean, RandomStream& stream) {
  const double limit = std::exp(-mean);
  std::int64_t count = 0;
  for (double product = stream.uniform(); product > limit; product *= stream.uniform()) ++count;
  return count;
}

/// Transformed rejection with squeeze, PTRS (Hormann, Insurance: Mathematics and Economics 12
/// (1993) 39-45); exact, mean >= 10.
std::int64_t poisson_by_rejection(double mean, RandomStream& stream) {
  const double b = 0.931 + 2.53 * std::sqrt(mean);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double squeeze = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = stream.uniform() - 0.5;
    const double v = 1 - stream.uniform();
    const double edge = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / edge + b) * u + mean + 0.43);
    if (edge >= 0.07 && v <= squeeze) return static_cast<std::int64_t>(k);
    if (k < 0 || (edge < 0.013 && v > edge)) continue;
    const double proposal = std::log(v * inverse_alpha / (a / (edge * edge) + b));
    if (proposal <= log_poisson(k, mean)) return static_cast<std::int64_t>(k);
  }
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t left = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t right = std::uint64_t{0xCD9E8D57} * counter[2];
    const auto high = [](std::uint64_t product) {
      return static_cast<std::uint32_t>(product >> 32);
    };
    const auto low = [](std::uint64_t product) { return static_cast<std::uint32_t>(product); };
    counter = {high(right) ^ counter[1] ^ key[0], low(right), high(left) ^ counter[3] ^ key[1],
               low(left)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

RandomStream::RandomStream(std::uint64_t seed, Purpose purpose, std::uint64_t index)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
      counter_{0, static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
               static_cast<std::uint32_t>(purpose)} {}

void RandomStream::refill() {
  block_ = philox(counter_, key_);
  ++counter_[0];
  used_ = 0;
}

RandomStream::result_type RandomStream::operator()() {
  if (used_ == 4) refill();
  return block_[static_cast<std::size_t>(used_++)];
}

double RandomStream::uniform() {
  const std::uint64_t high = (*this)() >> 5;
  const std::uint64_t low = (*this)() >> 6;
  return static_cast<double>((high << 26) | low) * 0x1p-53;
}

double RandomStream::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * kPi * uniform());
}

std::int64_t RandomStream::below(std::int64_t bound) {
  assert(bound >= 1);
  const auto range = static_cast<std::uint64_t>(bound);
  // 2^64 mod range: below it, the residues would not all be equally frequent.
  const std::uint64_t reject_below = (0 - range) % range;
  std::uint64_t bits = 0;
  do {
    const std::uint64_t high = (*this)();
    bits = (high << 32) | (*this)();
  } while (bits < reject_below);
  return static_cast<std::int64_t>(bits % range);
}

std::int64_t RandomStream::poisson(double mean) {
  require(mean >= 0 && mean <= kLargestMean,
          "photon noise: expected a mean of 0 to {:.1e} counts, found {}", kLargestMean, mean);
  return mean < 10 ? poisson_by_multiplication(mean, *this) : poisson_by_rejection(mean, *this);
}

std::vector<std::int64_t> permutation(std::int64_t n, RandomStream stream) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::int64_t last = n - 1; last > 0; --last) {
    const std::int64_t other = stream.below(last + 1);
    std::swap(order[static_cast<std::size_t>(last)], order[static_cast<std::size_t>(other)]);
  }
  return order;
}

}  // namespace ptyche
