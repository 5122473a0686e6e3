#include "ptyche/report/display.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptyche {
namespace {

at::Tensor all_of(at::IntArrayRef shape) { return at::ones(shape, at::kBool); }

TEST(BoundingBox, HoldsTheLitPixelsAndNoMore) {
  at::Tensor coverage = at::zeros({9, 12});
  coverage[2][5] = 1;
  coverage[6][4] = 0.5;
  coverage[8][11] = 0.001;
  const PixelBox box = bounding_box(lit_above(coverage, 0.01));
  EXPECT_EQ(box.row_begin, 2);
  EXPECT_EQ(box.row_end, 7);
  EXPECT_EQ(box.col_begin, 4);
  EXPECT_EQ(box.col_end, 6);
}

TEST(BoundingBox, IsTheWholeWhereNothingIsLit) {
  const PixelBox box = bounding_box(lit_above(at::zeros({9, 12}), 0.01));
  EXPECT_EQ(box.rows(), 9);
  EXPECT_EQ(box.cols(), 12);
}

TEST(RobustRange, IsTheFirstToTheNinetyNinthPercentileOfTheMaskedValues) {
  at::Tensor values = at::arange(1010, at::kDouble).view({10, 101});
  values[9].fill_(1e9);
  at::Tensor mask = all_of({10, 101});
  mask.slice(0, 1).fill_(false);
  const ValueRange range = robust_range(values, mask);
  EXPECT_DOUBLE_EQ(range.low, 1);
  EXPECT_DOUBLE_EQ(range.high, 99);
}

TEST(RobustRange, IsFiniteAndNotEmptyForAnyInput) {
  const double nan = std::nan("");
  for (const double value : {0.0, 1.0, -2.5, 1e-30, 1e30, nan}) {
    const ValueRange range = robust_range(at::full({4, 4}, value, at::kDouble), all_of({4, 4}));
    EXPECT_TRUE(std::isfinite(range.low) && std::isfinite(range.high)) << value;
    EXPECT_LT(range.low, range.high) << value;
    if (std::isfinite(value)) {
      EXPECT_LE(range.low, value);
      EXPECT_GE(range.high, value);
    }
  }
}

TEST(BrightLevel, IsNotSetByOneHotPixelAndNeverZero) {
  at::Tensor values = at::full({100, 100}, 2.0, at::kComplexFloat);
  values[3][4] = 1000;
  EXPECT_NEAR(bright_level(values), 2, 1e-6);
  EXPECT_GT(bright_level(at::zeros({4, 4}, at::kComplexFloat)), 0);
}

TEST(DisplayPhase, RemovesTheMeanAndARampBetweenTwoFrequenciesOfTheGrid) {
  const double down = 0.301, right = -0.1123;
  const at::Tensor rows = at::arange(60, at::kDouble).unsqueeze(1);
  const at::Tensor cols = at::arange(75, at::kDouble).unsqueeze(0);
  const at::Tensor sample = 0.4 * at::sign(at::sin(rows / 5)) * at::sign(at::sin(cols / 7 + 0.3));
  const at::Tensor phase = sample + down * rows + right * cols + 2.2;
  const DisplayPhase display =
      display_phase(at::polar(at::ones_like(phase), phase), all_of({60, 75}));
  EXPECT_NEAR(display.ramp_row_rad_per_px, down, 2e-3);
  EXPECT_NEAR(display.ramp_col_rad_per_px, right, 2e-3);
  const at::Tensor mean = at::angle(at::polar(at::ones_like(sample), sample).sum());
  EXPECT_LT((display.phase_rad - (sample - mean)).abs().max().item<double>(), 0.15);
}

TEST(DisplayPhase, LooksOnlyAtTheMaskedPart) {
  at::Tensor object = at::ones({40, 40}, at::kComplexDouble);
  object.slice(1, 20).mul_(
      at::polar(at::ones({20}, at::kDouble), 1.5 * at::arange(20, at::kDouble)));
  at::Tensor mask = all_of({40, 40});
  mask.slice(1, 18).fill_(false);
  const DisplayPhase display = display_phase(object, mask);
  EXPECT_NEAR(display.ramp_col_rad_per_px, 0, 1e-3);
  EXPECT_LT(display.phase_rad.slice(1, 0, 18).abs().max().item<double>(), 0.02);
}

}  // namespace
}  // namespace ptyche
