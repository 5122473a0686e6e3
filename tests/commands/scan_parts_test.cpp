#include "ptyche/commands/scan_parts.h"

#include <gtest/gtest.h>

#include "tests/support/refusal.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

/// The number of the scan's pattern that each pattern of the part is.
std::vector<std::int64_t> numbers_in(const Scan& part, const Scan& scan) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t k = 0; k < part.frames(); ++k) {
    const at::Tensor same = (scan.positions() == part.positions()[k]).all(1).nonzero();
    numbers.push_back(same[0][0].item<std::int64_t>());
    EXPECT_TRUE(at::equal(part.counts()[k], scan.counts()[numbers.back()]));
  }
  return numbers;
}

TEST(ScanParts, SplitAlongAnAxisAtAShareOfTheExtentAndLoseNoPattern) {
  const Scan scan = small_scan();
  const auto parts = parts_of(scan, {.split = 0.8});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].name, "train");
  EXPECT_EQ(parts[0].scan.frames() + parts[1].scan.frames(), scan.frames());
  EXPECT_LT(parts[0].scan.positions().select(1, 0).max().item<double>(),
            parts[1].scan.positions().select(1, 0).min().item<double>());
  const auto sideways = parts_of(scan, {.split = 0.5, .axis = "x"});
  EXPECT_LT(sideways[0].scan.positions().select(1, 1).max().item<double>(),
            sideways[1].scan.positions().select(1, 1).min().item<double>());
}

TEST(ScanParts, SplitByOrderGiveTheShareOfThePatterns) {
  const Scan scan = small_scan();
  const auto parts = parts_of(scan, {.split = 0.25, .axis = "none"});
  EXPECT_EQ(parts[0].scan.frames(), 9);
  EXPECT_EQ(numbers_in(parts[0].scan, scan).back(), 8);
}

TEST(ScanParts, ShuffledHoldEveryPatternOnceWithItsPositionInAnotherOrder) {
  const Scan scan = small_scan();
  const auto numbers = numbers_in(parts_of(scan, {.shuffle = true})[0].scan, scan);
  std::vector<std::int64_t> sorted = numbers;
  std::ranges::sort(sorted);
  EXPECT_NE(sorted, numbers);
  for (std::size_t k = 0; k < sorted.size(); ++k) EXPECT_EQ(sorted[k], std::int64_t(k));
  EXPECT_EQ(numbers_in(parts_of(scan, {.shuffle = true})[0].scan, scan), numbers);
  EXPECT_NE(numbers_in(parts_of(scan, {.shuffle = true, .seed = 2})[0].scan, scan), numbers);
}

TEST(ScanParts, SubsampledHoldAsManyPatternsAsAskedFor) {
  const Scan scan = small_scan();
  const auto parts = parts_of(scan, {.subsample = {.count = 12}});
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].scan.frames(), 12);
  numbers_in(parts[0].scan, scan);
}

TEST(ScanParts, RefuseAPartWithoutPatterns) {
  EXPECT_EQ(message_of([] { parts_of(small_scan(), {.split = 1, .axis = "none"}); }),
            "--split: expected patterns in both parts, found none to test");
}

TEST(ScanParts, HaveTheNameOfTheFileAndTheirOwn) {
  EXPECT_EQ(named_part("a/scan.npz", "train"), "a/scan_train.npz");
  EXPECT_EQ(named_part("a/scan.npz", ""), "a/scan.npz");
}

}  // namespace
}  // namespace ptyche
