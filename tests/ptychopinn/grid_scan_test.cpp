// The original's regular-grid workflow: its scan, its object, its dose.
#include "ptyche/ptychopinn/grid_scan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/simulate/line_drawing.h"
#include "tests/support/checks.h"

namespace ptyche {
namespace {

// Numbers of patterns that the original's workflow is known to give at its object size, 392.
TEST(GridScan, HasAsManyGroupsAsTheOriginalsWorkflow) {
  struct Known {
    std::int64_t size, gridsize, outer, groups;
  };
  for (const Known known : {Known{64, 1, 8, 6889},
                            {64, 1, 20, 1089},
                            {64, 2, 8, 6724},
                            {64, 2, 20, 1089},
                            {128, 1, 8, 4489},
                            {128, 1, 20, 729},
                            {128, 2, 8, 4356},
                            {256, 1, 8, 1225},
                            {256, 1, 20, 196}}) {
    const at::Tensor corners = grid_scan_corners(
        {.pattern_size = known.size, .gridsize = known.gridsize, .outer_offset_px = known.outer});
    EXPECT_EQ(corners.sizes(), (at::IntArrayRef{known.groups, known.gridsize * known.gridsize, 2}));
    EXPECT_EQ(corners.min().item<std::int64_t>(), 0);
    EXPECT_LE(corners.max().item<std::int64_t>() + known.size, 392);
  }
}

TEST(GridScan, RunsRowByRowInsideAndBetweenGroups) {
  const at::Tensor corners = grid_scan_corners(
      {.object_size = 24, .pattern_size = 16, .gridsize = 2, .offset_px = 3, .outer_offset_px = 8});
  const at::Tensor expected =
      at::tensor({0, 0, 0, 3, 3, 0, 3, 3, 0, 4, 0, 7, 3, 4, 3, 7}, at::kLong);
  ASSERT_EQ(corners.size(0), 4);
  EXPECT_TRUE(at::equal(corners.narrow(0, 0, 2).flatten(), expected));
}

TEST(GridScan, RefusesWhatDoesNotFit) {
  EXPECT_THROW(grid_scan_corners({.object_size = 60, .pattern_size = 64}), InvalidInput);
  EXPECT_THROW(grid_scan_corners({.outer_offset_px = 7}), InvalidInput);
  EXPECT_THROW(grid_scan_corners({.gridsize = 0}), InvalidInput);
}

TEST(GridSimulation, HasTheDoseInTheMeanAndLosesNoPhoton) {
  const GridScanOptions options{
      .object_size = 40, .pattern_size = 16, .gridsize = 2, .outer_offset_px = 8};
  const at::Tensor object = random_tensor({40, 40}, at::kComplexDouble, 1);
  const at::Tensor probe = random_tensor({16, 16}, at::kComplexDouble, 2);
  const GridPatterns patterns = simulate_grid(object, probe, grid_scan_corners(options), 1e5);
  const at::Tensor counts = (patterns.scale * patterns.amplitudes).square().sum({1, 2});
  EXPECT_NEAR(counts.mean().item<double>(), 1e5, 1e-4);
  const at::Tensor lit = (patterns.scale * patterns.patches * probe.abs()).square().sum({1, 2});
  EXPECT_LT(relative_difference(counts, lit), 1e-12);
  EXPECT_THROW(simulate_grid(object, probe, grid_scan_corners({}), 1e5), InvalidInput);
}

TEST(LineDrawing, HasWhiteLinesOfOnePixelFromEndToEnd) {
  const at::Tensor raster = line_raster(32, 5);
  EXPECT_TRUE(raster.eq(0).logical_or(raster.eq(1)).all().item<bool>());
  for (const LineEnds& ends : line_ends(32, 5)) {
    EXPECT_EQ(raster[ends[0]][ends[1]].item<double>(), 1);
    EXPECT_EQ(raster[ends[2]][ends[3]].item<double>(), 1);
    // Midway, the line is at most half a pixel from a raster point.
    const auto row = static_cast<std::int64_t>(std::floor(0.5 * double(ends[0] + ends[2])));
    const auto col = static_cast<std::int64_t>(std::floor(0.5 * double(ends[1] + ends[3])));
    EXPECT_GT(raster.narrow(0, row, std::min<std::int64_t>(2, 64 - row))
                  .narrow(1, col, std::min<std::int64_t>(2, 64 - col))
                  .sum()
                  .item<double>(),
              0);
  }
}

// The three blurs keep the mean: 1 + 2 + 5 times the share of white pixels, the border apart.
TEST(LineDrawing, IsEightTimesAsBrightAsItsLinesInTheMean) {
  const at::Tensor raster = line_raster(64, 5), drawing = line_drawing(64, 5);
  EXPECT_EQ(drawing.sizes(), (at::IntArrayRef{64, 64}));
  const double white = raster.narrow(0, 32, 64).narrow(1, 32, 64).mean().item<double>();
  EXPECT_NEAR(drawing.mean().item<double>() / (8 * white), 1, 0.05);
  EXPECT_FALSE(at::equal(drawing, line_drawing(64, 6)));
  EXPECT_THROW(line_drawing(1, 5), InvalidInput);
}

TEST(LineDrawing, HasAPhaseInsidePlusMinusPiThatGrowsWithItsAmplitude) {
  const at::Tensor amplitude = at::linspace(0, 4, 50, at::kDouble);
  const at::Tensor phase = phase_of_drawing(amplitude);
  EXPECT_LT(phase.abs().max().item<double>(), M_PI);
  EXPECT_TRUE(phase.diff().gt(0).all().item<bool>());
  EXPECT_NEAR(phase[0].item<double>(), -M_PI * std::tanh(2 / (3 * 2.0)), 1e-12);
}

}  // namespace
}  // namespace ptyche
