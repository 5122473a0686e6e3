#include "ptyche/core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

using Block = std::array<std::uint32_t, 4>;

struct Moments {
  double mean = 0, variance = 0;
};

template <typename Draw>
Moments moments_of(int count, Draw draw) {
  double sum = 0, squares = 0;
  for (int i = 0; i < count; ++i) {
    const double value = draw();
    sum += value;
    squares += value * value;
  }
  const double mean = sum / count;
  return {mean, squares / count - mean * mean};
}

// The authors' known answers (Random123, kat_vectors, "philox4x32 10").
TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, IsPhiloxOfCounterIndexAndPurposeUnderTheSeed) {
  RandomStream stream(0x0123456789abcdef, Purpose::noise, 0xfedcba9876543210);
  for (std::uint32_t counter = 0; counter < 3; ++counter) {
    const Block expected = philox({counter, 0x76543210, 0xfedcba98, 9}, {0x89abcdef, 0x01234567});
    for (const std::uint32_t word : expected) EXPECT_EQ(stream(), word);
  }
}

TEST(RandomStream, DiffersBySeedPurposeAndIndexDownToTheHighestBit) {
  const std::uint64_t high = std::uint64_t{1} << 63;
  const std::set<std::uint32_t> first = {
      RandomStream(1, Purpose::noise, 1)(),        RandomStream(2, Purpose::noise, 1)(),
      RandomStream(1 + high, Purpose::noise, 1)(), RandomStream(1, Purpose::probe, 1)(),
      RandomStream(1, Purpose::noise, 2)(),        RandomStream(1, Purpose::noise, 1 + high)()};
  EXPECT_EQ(first.size(), 6U);
}

TEST(Uniform, FillsTheHalfOpenUnitIntervalEvenly) {
  RandomStream stream(5, Purpose::object);
  double lowest = 1, highest = 0;
  const Moments found = moments_of(200000, [&] {
    const double value = stream.uniform();
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
    return value;
  });
  EXPECT_GE(lowest, 0);
  EXPECT_LT(lowest, 1e-4);
  EXPECT_LT(highest, 1);
  EXPECT_GT(highest, 1 - 1e-4);
  EXPECT_NEAR(found.mean, 0.5, 0.002);
  EXPECT_NEAR(found.variance, 1.0 / 12, 0.0007);
}

TEST(Normal, HasTheGaussianDistribution) {
  RandomStream stream(6, Purpose::object);
  int within_one = 0, within_two = 0;
  const int count = 200000;
  const Moments found = moments_of(count, [&] {
    const double value = stream.normal();
    within_one += std::abs(value) < 1;
    within_two += std::abs(value) < 2;
    return value;
  });
  EXPECT_NEAR(found.mean, 0, 0.009);
  EXPECT_NEAR(found.variance, 1, 0.013);
  EXPECT_NEAR(within_one / double{count}, std::erf(1 / std::sqrt(2)), 0.004);
  EXPECT_NEAR(within_two / double{count}, std::erf(2 / std::sqrt(2)), 0.002);
}

TEST(Below, GivesEveryNumberEquallyOften) {
  RandomStream stream(7, Purpose::group_choice);
  std::array<int, 7> seen{};
  for (int i = 0; i < 70000; ++i) ++seen.at(static_cast<std::size_t>(stream.below(7)));
  for (const int count : seen) EXPECT_NEAR(count, 10000, 400);
}

TEST(Below, IsEvenInRangesBeyond32Bits) {
  RandomStream stream(8, Purpose::group_choice);
  const std::int64_t bound = std::int64_t{3} << 61;
  const Moments found = moments_of(100000, [&] {
    const std::int64_t value = stream.below(bound);
    EXPECT_TRUE(value >= 0 && value < bound);
    return static_cast<double>(value) / static_cast<double>(bound);
  });
  EXPECT_NEAR(found.mean, 0.5, 0.004);  // 0.46 with the remainder of 2^64 alone
  EXPECT_EQ(stream.below(1), 0);
}

TEST(Poisson, OfMeanZeroIsZero) {
  RandomStream stream(9, Purpose::noise);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(stream.poisson(0), 0);
}

/// Chi-squared per degree of freedom of draws against mean^k exp(-mean) / k!, over all k that are
/// expected at least 20 times.
double chi_squared(double mean) {
  const int count = 200000;
  RandomStream stream(10, Purpose::noise);
  std::map<std::int64_t, int> seen;
  for (int i = 0; i < count; ++i) ++seen[stream.poisson(mean)];
  double sum = 0, probability = std::exp(-mean);
  int degrees = 0;
  for (std::int64_t k = 0; k < 10 * mean + 50; probability *= mean / static_cast<double>(++k)) {
    const double expected = count * probability;
    if (expected < 20) continue;
    sum += std::pow(seen[k] - expected, 2) / expected;
    ++degrees;
  }
  return sum / degrees;
}

TEST(Poisson, HasThePoissonDistributionOnBothSidesOfTheChangeOfMethod) {
  for (const double mean : {0.01, 0.7, 4.0, 9.999, 10.0, 11.5, 25.0, 300.0})
    EXPECT_LT(chi_squared(mean), 2) << "mean " << mean;
}

TEST(Poisson, KeepsMeanAndVarianceAtLargeMeans) {
  for (const double mean : {1e4, 1e9, 1e14}) {
    RandomStream stream(11, Purpose::noise);
    const auto draw = [&] {
      return (static_cast<double>(stream.poisson(mean)) - mean) / std::sqrt(mean);
    };
    const Moments found = moments_of(100000, draw);
    EXPECT_NEAR(found.mean, 0, 0.013) << "mean " << mean;
    EXPECT_NEAR(found.variance, 1, 0.018) << "mean " << mean;
  }
}

TEST(Poisson, RefusesAMeanThatIsNotANumberOrTooLarge) {
  RandomStream stream(9, Purpose::noise);
  for (const double mean : {std::nan(""), HUGE_VAL, -1.0, 1e30})
    EXPECT_THROW(stream.poisson(mean), InvalidInput) << mean;
}

TEST(Permutation, HoldsEveryIndexOnce) {
  std::vector<std::int64_t> order = permutation(1000, RandomStream(12, Purpose::group_order));
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  std::vector<std::int64_t> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
  EXPECT_TRUE(permutation(0, RandomStream(12, Purpose::group_order)).empty());
}

TEST(Permutation, GivesAllOrdersEquallyOften) {
  std::map<std::vector<std::int64_t>, int> seen;
  for (std::uint64_t i = 0; i < 24000; ++i)
    ++seen[permutation(4, RandomStream(13, Purpose::group_order, i))];
  EXPECT_EQ(seen.size(), 24U);
  for (const auto& [order, count] : seen) EXPECT_NEAR(count, 1000, 130);
}

}  // namespace
}  // namespace ptyche
