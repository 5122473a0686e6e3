#include "ptyche/report/figure.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/report/result_figures.h"
#include "tests/report/decoded_png.h"
#include "tests/report/sample.h"

namespace ptyche {
namespace {

constexpr std::uint32_t red = 0xff0000, blue = 0x0000ff;

/// A blue picture with one red pixel.
Figure dotted_figure(std::int64_t rows, std::int64_t cols, std::int64_t row, std::int64_t col) {
  at::Tensor rgb = at::zeros({rows, cols, 3});
  rgb.select(2, 2).fill_(1);
  rgb[row][col] = at::tensor({1.f, 0.f, 0.f});
  return {"dot", {{"", rgb}}, 0, ColourBar{ColourMap::grey, 0, 1, "value"}};
}

TEST(RenderPng, DrawsRowsDownwardsAndColumnsToTheRight) {
  const DecodedPng png = decode_png(render_png(dotted_figure(12, 20, 2, 5)));
  const ColourBox picture = box_of(png, {red, blue}), dot = box_of(png, {red});
  const double rows = picture.row_end - picture.row_begin;
  const double cols = picture.col_end - picture.col_begin;
  EXPECT_NEAR((0.5 * (dot.row_begin + dot.row_end) - picture.row_begin) / rows, 2.5 / 12, 0.01);
  EXPECT_NEAR((0.5 * (dot.col_begin + dot.col_end) - picture.col_begin) / cols, 5.5 / 20, 0.01);
  EXPECT_NEAR((dot.row_end - dot.row_begin) / rows, 1.0 / 12, 0.01);
  EXPECT_NEAR(rows / cols, 12.0 / 20, 0.01);
}

TEST(RenderPng, ReducesAPictureThatIsTooLong) {
  const DecodedPng png = decode_png(render_png(dotted_figure(30, 4100, 2, 5)));
  const ColourBox picture = box_of(png, {blue});
  EXPECT_LE(picture.col_end - picture.col_begin, 2000);
  EXPECT_GE(picture.col_end - picture.col_begin, 1300);
}

TEST(RenderPng, RefusesAFigureWithoutAPicture) {
  EXPECT_THROW(render_png({"nothing", {}, 0, ColourBar{}}), InvalidInput);
  EXPECT_THROW(render_png({"empty", {{"", at::zeros({0, 4, 3})}}, 0, ColourBar{}}), InvalidInput);
}

TEST(AmplitudeFigure, ShowsTheLitPartInItsPlaceAndTheUnlitInGrey) {
  Reconstruction image = sample_star();
  image.object = at::ones({1, 40, 50}, at::kComplexFloat);
  image.object[0][12][25] = 2;
  image.coverage = at::zeros({40, 50});
  image.coverage.slice(0, 10, 30).slice(1, 20, 45).fill_(1);
  image.coverage[11][21] = 0;
  const Panel panel = amplitude_figure(image).figure.panels.at(0);
  EXPECT_EQ(panel.rgb.sizes(), at::IntArrayRef({20, 25, 3}));
  EXPECT_EQ(panel.first_row, 10);
  EXPECT_EQ(panel.first_col, 20);
  EXPECT_TRUE(at::allclose(panel.rgb[1][1], at::full({3}, kNoValueGrey, at::kFloat)));
  const at::Tensor brightness = panel.rgb.sum(2);
  EXPECT_GT(brightness[2][5].item<float>(), brightness[2][6].item<float>());
}

TEST(ObjectFigures, AConstantObjectIsDrawnWithAFiniteRange) {
  Reconstruction image = sample_star();
  for (const double value : {1.0, 0.0}) {
    image.object = at::full({1, 72, 96}, value, at::kComplexFloat);
    for (const auto& drawn : {amplitude_figure(image), phase_figure(image)}) {
      const auto& bar = std::get<ColourBar>(drawn.figure.key);
      EXPECT_TRUE(std::isfinite(bar.low) && std::isfinite(bar.high));
      EXPECT_LT(bar.low, bar.high);
      EXPECT_NO_THROW(decode_png(render_png(drawn.figure)));
    }
  }
}

TEST(ObjectFigures, AnObjectOfNaNIsDrawnAsMissing) {
  Reconstruction image = sample_star();
  image.object.fill_(std::nan(""));
  for (const auto& drawn : {amplitude_figure(image), phase_figure(image)}) {
    const at::Tensor& rgb = drawn.figure.panels.at(0).rgb;
    EXPECT_TRUE(at::allclose(rgb, at::full_like(rgb, kNoValueGrey)));
    EXPECT_NO_THROW(decode_png(render_png(drawn.figure)));
  }
}

TEST(ObjectFigures, RefuseACoverageOfAnotherShape) {
  Reconstruction image = sample_star();
  image.coverage = at::ones({3, 4});
  EXPECT_THROW(amplitude_figure(image), InvalidInput);
  EXPECT_THROW(phase_figure(image), InvalidInput);
}

TEST(PhaseFigure, UsesTheClosedMapOnlyWhereThePhaseGoesRound) {
  Reconstruction image = sample_star();
  EXPECT_EQ(std::get<ColourBar>(phase_figure(image).figure.key).map, ColourMap::grey);
  image.object = at::polar(at::ones({1, 72, 96}), at::rand({1, 72, 96}) * 6.28f);
  EXPECT_EQ(std::get<ColourBar>(phase_figure(image).figure.key).map, ColourMap::cyclic);
}

TEST(ProbeFigure, DrawsEveryModeUpToSix) {
  Reconstruction image = sample_star();
  EXPECT_EQ(probe_figure(image).figure.panels.size(), 2u);
  image.probe = at::zeros({1, 9, 16, 16}, at::kComplexFloat);
  const CaptionedFigure drawn = probe_figure(image);
  EXPECT_EQ(drawn.figure.panels.size(), 6u);
  EXPECT_NO_THROW(decode_png(render_png(drawn.figure)));
}

TEST(Figures, ChangeTheirAxesWhereThePixelIsKnown) {
  Reconstruction image = sample_star();
  const DecodedPng pixels = decode_png(render_png(amplitude_figure(image).figure));
  image.geometry.object_pixel_m = 31e-9;
  const DecodedPng nanometres = decode_png(render_png(amplitude_figure(image).figure));
  EXPECT_EQ(pixels.rows, nanometres.rows);
  EXPECT_NE(pixels.pixels, nanometres.pixels);
}

}  // namespace
}  // namespace ptyche
