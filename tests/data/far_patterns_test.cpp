#include "ptyche/data/far_patterns.h"

#include <gtest/gtest.h>

#include "ptyche/data/probe.h"

namespace ptyche {
namespace {

constexpr double kReach = 64;

/// A raster of side x side with steps of 8 around (row, col).
at::Tensor raster_at(double row, double col, std::int64_t side = 10) {
  const at::Tensor line = 8 * at::arange(side, at::kDouble);
  return at::stack({(line + row).repeat_interleave(side), (line + col).repeat({side})}, 1);
}

at::Tensor far_of(const at::Tensor& positions) {
  return far_patterns(parts_without_overlap(positions, kReach));
}

TEST(FarPatterns, AScanIsOnePartHoweverItIsShuffled) {
  const at::Tensor scan = raster_at(-40, 1e4, 20);
  const auto parts = parts_without_overlap(scan.index_select(0, at::randperm(400)), kReach);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_TRUE(at::equal(parts[0], at::arange(400)));
}

TEST(FarPatterns, APartBeginsWhereNoWindowOverlapsAnother) {
  for (const double gap : {63.0, 65.0}) {
    const at::Tensor both = at::cat({raster_at(0, 0), raster_at(0, 72 + gap)});
    EXPECT_EQ(parts_without_overlap(both, kReach).size(), gap < kReach ? 1u : 2u) << gap;
  }
}

TEST(FarPatterns, AreTheFewThatLieAloneOrTogether) {
  const at::Tensor scan = raster_at(0, 0);
  for (const double away : {200.0, -5e4, 1e12}) {
    at::Tensor alone = scan.clone(), together = scan.clone(), apart = scan.clone();
    alone[7] += away;
    for (const std::int64_t i : {20, 70, 99}) together[i].copy_(at::full({2}, away) + i);
    for (const std::int64_t i : {20, 70, 99}) apart[i] += away * static_cast<double>(i + 1);
    EXPECT_TRUE(at::equal(far_of(alone), at::tensor({7}, at::kLong))) << away;
    EXPECT_TRUE(at::equal(far_of(together), at::tensor({20, 70, 99}, at::kLong))) << away;
    EXPECT_TRUE(at::equal(far_of(apart), at::tensor({20, 70, 99}, at::kLong))) << away;
  }
}

TEST(FarPatterns, AreNoneWhereManyLieApart) {
  EXPECT_EQ(far_of(at::cat({raster_at(0, 0), raster_at(0, 1000)})).numel(), 0) << "two regions";
  EXPECT_EQ(far_of(raster_at(0, 0) * 100).numel(), 0) << "no overlap at all";
  at::Tensor twelve = raster_at(0, 0);
  for (std::int64_t i = 0; i < 12; ++i) twelve[8 * i] += 1e4 * static_cast<double>(i + 1);
  EXPECT_EQ(far_of(twelve).numel(), 0) << "more than a tenth";
}

TEST(MedianStep, IsBetweenDifferentPlacesHoweverOftenEachWasExposed) {
  const at::Tensor scan = raster_at(0, 0);
  at::manual_seed(1);
  for (const std::int64_t times : {1, 2, 3, 8}) {
    const at::Tensor same = scan.repeat_interleave(times, 0);
    EXPECT_NEAR(median_step_px(same), 8, 1e-9) << times;
    if (times > 3) continue;
    const at::Tensor jitter = 0.05 * at::rand({same.size(0), 2}, at::kDouble);
    EXPECT_NEAR(median_step_px(same + jitter), 8, 0.1) << times << " with an encoder's noise";
  }
  EXPECT_NEAR(median_step_px(scan.repeat({20, 1})), 8, 1e-9) << "sweep after sweep";
  EXPECT_EQ(median_step_px(at::ones({5, 2}, at::kDouble)), 0);
}

TEST(MedianStep, IsAlongTheLineWhereLinesLieApart) {
  const at::Tensor line = 0.5 * at::arange(40, at::kDouble);
  const at::Tensor scan =
      at::stack({(8 * at::arange(10, at::kDouble)).repeat_interleave(40), line.repeat({10})}, 1);
  EXPECT_NEAR(median_step_px(scan), 0.5, 1e-9);
}

}  // namespace
}  // namespace ptyche
