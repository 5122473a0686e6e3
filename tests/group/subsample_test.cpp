#include "ptyche/group/subsample.h"

#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

at::Tensor used(const Scan& scan) { return scan.frames_with(FrameUse::used); }

TEST(Subsample, KeepsThatManyInTheirOrderAndRejectsTheOthers) {
  const Scan part = subsample(small_scan(36), {.count = 10});
  EXPECT_EQ(used(part).size(0), 10);
  EXPECT_TRUE(used(part).diff().gt(0).all().item<bool>());
  EXPECT_EQ(part.frames_with(FrameUse::rejected).size(0), 26);
  EXPECT_EQ(part.frames(), 36);
}

TEST(Subsample, IsDrawnByItsSeed) {
  const Scan scan = small_scan(36);
  const at::Tensor one = used(subsample(scan, {.count = 10, .seed = 1}));
  EXPECT_TRUE(at::equal(one, used(subsample(scan, {.count = 10, .seed = 1}))));
  EXPECT_FALSE(at::equal(one, used(subsample(scan, {.count = 10, .seed = 2}))));
}

TEST(Subsample, TakesTheFirstOfTheFileIfTold) {
  const Scan part = subsample(small_scan(36), {.count = 10, .first = true});
  EXPECT_TRUE(at::equal(used(part), at::arange(10)));
}

TEST(Subsample, LeavesPatternsThatWereNotInUseAsTheyAre) {
  const Scan scan = small_scan(36);
  at::Tensor use = scan.frame_use().clone();
  use.slice(0, 0, 12).fill_(static_cast<std::int64_t>(FrameUse::held_out));
  const Scan part = subsample(scan.with_frame_use(use), {.count = 20});
  EXPECT_EQ(part.frames_with(FrameUse::held_out).size(0), 12);
  EXPECT_EQ(used(part).size(0), 20);
  EXPECT_GE(used(part).min().item<std::int64_t>(), 12);
}

TEST(Subsample, KeepsAllIfAskedForNoneOrForMoreThanThereAre) {
  EXPECT_EQ(used(subsample(small_scan(36), {})).size(0), 36);
  EXPECT_EQ(used(subsample(small_scan(36), {.count = 99})).size(0), 36);
  EXPECT_THROW(subsample(small_scan(36), {.count = -1}), InvalidInput);
}

}  // namespace
}  // namespace ptyche
