#include "ptyche/report/result_figures.h"

#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "tests/report/decoded_png.h"
#include "tests/report/sample.h"

namespace ptyche {
namespace {

at::Tensor all_of(at::IntArrayRef shape) { return at::ones(shape, at::kBool); }

TEST(BoundingBox, HoldsTheLitPixelsAndNoMore) {
  at::Tensor coverage = at::zeros({9, 12});
  coverage[2][5] = 1;
  coverage[6][4] = 0.5;
  coverage[8][11] = 0.001;
  const Window box = bounding_box(lit_above(coverage, 0.01));
  EXPECT_EQ(box.row_begin, 2);
  EXPECT_EQ(box.row_end, 7);
  EXPECT_EQ(box.col_begin, 4);
  EXPECT_EQ(box.col_end, 6);
}

TEST(BoundingBox, IsTheWholeWhereNothingIsLit) {
  const Window box = bounding_box(lit_above(at::zeros({9, 12}), 0.01));
  EXPECT_EQ(box.rows(), 9);
  EXPECT_EQ(box.cols(), 12);
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

TEST(RingFigure, IsAPictureWithTheBlueCurve) {
  const DecodedPng png = decode_png(ring_figure_png(sample_comparison(), "A against B"));
  EXPECT_GT(png.rows, 500);
  EXPECT_GT(png.cols, 1000);
  // The curve falls: its blue begins at the upper left and ends at the lower right.
  const ColourBox box = box_of(png, {0x0072b2});
  EXPECT_GT(box.col_end - box.col_begin, 900);
  EXPECT_GT(box.row_end - box.row_begin, 400);
}

TEST(RingFigure, SaysTheCrossingsInWordsAndThatOneIsNeverReached) {
  Comparison comparison = sample_comparison();
  comparison.object_pixel_m = 10e-9;
  const std::string words = ring_figure_words(comparison);
  EXPECT_NE(words.find("half-bit: 0.250 / px (20 nm half period)"), std::string::npos) << words;
  EXPECT_NE(words.find("1/7: never"), std::string::npos) << words;
}

TEST(RingFigure, RefusesAComparisonWithoutACurve) {
  EXPECT_THROW(ring_figure_png({}, "none"), InvalidInput);
}

}  // namespace
}  // namespace ptyche
