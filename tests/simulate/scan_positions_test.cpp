#include "ptyche/simulate/scan_positions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

at::Tensor positions_of(const std::string& kind, std::int64_t frames, double jitter = 0.3) {
  return scan_positions({kind, frames, /*step_px=*/5, jitter, /*seed=*/1});
}

/// Distance to the nearest other position, (n).
at::Tensor nearest(const at::Tensor& positions) {
  at::Tensor distance = at::cdist(positions, positions);
  distance.fill_diagonal_(INFINITY);
  return std::get<0>(distance.min(1));
}

TEST(ScanPositions, GivesTheFramesAskedForFromZeroOn) {
  for (const std::string kind : {"jittered", "fermat", "raster"})
    for (const std::int64_t frames : {1, 2, 7, 100}) {
      const at::Tensor positions = positions_of(kind, frames);
      EXPECT_EQ(positions.sizes(), (at::IntArrayRef{frames, 2})) << kind;
      EXPECT_EQ(positions.scalar_type(), at::kDouble) << kind;
      EXPECT_TRUE(at::equal(std::get<0>(positions.min(0)), at::zeros({2}, at::kDouble))) << kind;
    }
}

TEST(RasterPositions, RunRowByRowWithTheStepBetweenThem) {
  const at::Tensor expected =
      at::tensor({0, 0, 0, 5, 0, 10, 5, 0, 5, 5, 5, 10, 10, 0}, at::kDouble).view({7, 2});
  EXPECT_TRUE(at::equal(positions_of("raster", 7), expected));
}

TEST(JitteredPositions, LeaveTheRasterByTheirShareOfTheStepAndNoMore) {
  const at::Tensor moved = positions_of("jittered", 400) - positions_of("raster", 400);
  // The smallest position is moved to zero, so only differences of the moves are known.
  const at::Tensor spread = std::get<0>(moved.max(0)) - std::get<0>(moved.min(0));
  EXPECT_LE(spread.max().item<double>(), 2 * 0.3 * 5);
  EXPECT_GE(spread.min().item<double>(), 0.95 * 2 * 0.3 * 5);
  EXPECT_TRUE(at::equal(positions_of("jittered", 400, 0), positions_of("raster", 400)));
}

TEST(FermatPositions, HaveOnePositionPerStepSquaredEverywhere) {
  const at::Tensor positions = positions_of("fermat", 900);
  const at::Tensor radius = (positions - positions[0]).square().sum(1).sqrt();
  for (const double inside : {30.0, 50.0, 80.0}) {
    const double count = (radius < inside).sum().item<double>();
    const double expected = std::numbers::pi * inside * inside / 25;
    EXPECT_NEAR(count, expected, 2 * std::sqrt(expected) / 5) << inside;
  }
  EXPECT_GT(nearest(positions).min().item<double>(), 0.85 * 5);
}

TEST(ScanPositions, RefusesOptionsOutOfRange) {
  EXPECT_THROW(scan_positions({.kind = "lissajous"}), InvalidInput);
  EXPECT_THROW(scan_positions({.frames = 0}), InvalidInput);
  EXPECT_THROW(scan_positions({.step_px = 0}), InvalidInput);
  EXPECT_THROW(scan_positions({.step_px = NAN}), InvalidInput);
  EXPECT_THROW(scan_positions({.jitter = 0.6}), InvalidInput);
}

}  // namespace
}  // namespace ptyche
