#include "ptyche/report/ring_figure.h"

#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "tests/report/decoded_png.h"
#include "tests/report/sample.h"

namespace ptyche {
namespace {

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
