// Counter-based random numbers: the same answer for any thread count and any order of use.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace ptyche {

/// What a stream is for. Streams of different purposes never share numbers; append, never renumber
/// or reuse (10 was another), for the value enters the key and old seeds must keep their meaning.
enum class Purpose : std::uint32_t {
  hold_out = 1,
  group_order = 2,
  group_choice = 3,
  network_weights = 4,
  solver_order = 5,
  object = 6,
  positions = 7,
  probe = 8,
  noise = 9,
  position_errors = 11,
  group_seeds = 12,
  group_members = 13,
  subsample = 14,
  verdict = 15,
  scan_mixture = 16,
  universe = 17,
  live_replay = 18,
  live_hold_out = 19,
};

/// The bijection Philox4x32-10 (Salmon et al., SC'11, doi 10.1145/2063384.2063405): 128 random bits
/// for a counter under a key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// The stream of (seed, purpose, index): `philox` with the seed as key and (counter, index,
/// purpose) as counter. A stream holds 2^34 draws. Satisfies UniformRandomBitGenerator, 32 bits a
/// call.
class RandomStream {
 public:
  using result_type = std::uint32_t;
  RandomStream(std::uint64_t seed, Purpose purpose, std::uint64_t index = 0);

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return 0xffffffffu; }
  result_type operator()();

  double uniform();                        ///< in [0, 1), 53 bits
  double normal();                         ///< mean 0, variance 1 (Box-Muller)
  std::int64_t below(std::int64_t bound);  ///< uniform in 0..bound-1, bound >= 1, unbiased
  /// Exact below 2^53 (PTRS above 10). Throws InvalidInput for a mean outside 0..2^62 or NaN.
  std::int64_t poisson(double mean);

 private:
  void refill();
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  int used_ = 4;
};

/// A random order of 0..n-1 (Fisher-Yates).
std::vector<std::int64_t> permutation(std::int64_t n, RandomStream stream);

}  // namespace ptyche
