#include "ptyche/evaluate/compare.h"

#include <gtest/gtest.h>

#include <limits>

#include "ptyche/core/error.h"
#include "ptyche/evaluate/align.h"
#include "ptyche/evaluate/image_error.h"
#include "tests/evaluate/blobs.h"
#include "tests/support/refusal.h"

namespace ptyche {
namespace {

Reconstruction lit(std::int64_t rows, std::int64_t cols, std::int64_t origin_row,
                   std::int64_t origin_col) {
  Reconstruction image;
  image.object = at::ones({1, rows, cols}, at::kComplexFloat);
  image.coverage = at::ones({rows, cols}, at::kFloat);
  image.origin_row = origin_row;
  image.origin_col = origin_col;
  return image;
}

const at::Tensor truth = at::ones({101, 80}, at::kComplexFloat);

TEST(TruthWindow, IsTheCentralHalfWhereTheScanLightsIt) {
  EXPECT_EQ(truth_window(truth, lit(101, 80, 0, 0)), (Window{25, 75, 20, 60}));
  EXPECT_EQ(truth_window(truth, lit(50, 40, 25, 20)), (Window{25, 75, 20, 60}));
  EXPECT_EQ(truth_window(truth, lit(300, 300, -90, -90)), (Window{25, 75, 20, 60}));
}

TEST(TruthWindow, ToleratesAFewDarkPixels) {
  Reconstruction image = lit(101, 80, 0, 0);
  image.coverage.narrow(0, 40, 4).narrow(1, 40, 4).fill_(0.05);
  EXPECT_EQ(truth_window(truth, image), (Window{25, 75, 20, 60}));
}

TEST(TruthWindow, ShrinksToTheLitPart) {
  // Lit truth rows 35..74 and columns 22..57.
  const std::optional<Window> window = truth_window(truth, lit(40, 36, 35, 22));
  ASSERT_TRUE(window.has_value());
  EXPECT_EQ(*window, (Window{35, 75, 22, 58}));
}

TEST(TruthWindow, IsAbsentWhereTheScanLightsTooLittle) {
  EXPECT_FALSE(truth_window(truth, lit(10, 80, 40, 0)).has_value());
  EXPECT_FALSE(truth_window(truth, lit(50, 50, 200, 0)).has_value());
}

TEST(TruthWindow, TakesAnImageWithoutCoverageAsLit) {
  Reconstruction image = lit(101, 80, 0, 0);
  image.coverage = at::Tensor();
  EXPECT_EQ(truth_window(truth, image), (Window{25, 75, 20, 60}));
}

const Window kCentralHalf{32, 96, 32, 96};

Reconstruction result_of(const at::Tensor& object) {
  Reconstruction image;
  image.object = object.unsqueeze(0);
  return image;
}

/// What the InvalidInput says; empty if there is none.
std::string refusal(const Reconstruction& image, const Reconstruction& reference) {
  return message_of([&] { compare(image, reference); });
}

/// The truth with a phase that bends slowly, by `turn_rad` from the middle to a corner of 128 px.
at::Tensor drifted(double turn_rad) {
  const at::Tensor x = at::arange(128, at::kDouble) / 64 - 1;
  const at::Tensor phase = 0.5 * turn_rad * (x.square().unsqueeze(1) + x.square());
  return blobs(128, 128) * at::polar(at::ones_like(phase), phase);
}

TEST(Compare, RemovesAPlantedShiftRampAndScaleAndPrintsThem) {
  const Planted planted{3.37, -5.81, 0.0071, 0.0193, {-0.2, 0.45}};
  // Wider than the reference, so that the window's surroundings are there after the shift.
  Planted wider = planted;
  wider.shift_row -= 20;
  wider.shift_col -= 20;
  Reconstruction image = result_of(blobs(168, 168, wider));
  image.origin_row = image.origin_col = -20;
  const Comparison found = compare(image, result_of(blobs(128, 128)), kCentralHalf).comparison;
  EXPECT_LT(found.error.nrmse_contrast, 1e-6);
  EXPECT_LT(found.error.phase_rmse_rad, 1e-6);
  EXPECT_LT(found.error.tiles->mean, 1e-6);
  EXPECT_NEAR(found.gauge.shift_row_px, planted.shift_row, 1e-5);
  EXPECT_NEAR(found.gauge.shift_col_px, planted.shift_col, 1e-5);
  EXPECT_NEAR(found.gauge.ramp_row_cycles_per_px, -planted.ramp_row, 1e-8);
  EXPECT_NEAR(std::abs(found.gauge.scale) * std::abs(planted.scale), 1, 1e-6);
}

TEST(Compare, AFlatObjectScoresExactlyOneWhateverItsSizeAndValue) {
  for (const std::int64_t side : {40, 128, 200}) {
    const at::Tensor flat = at::full({side, side}, c10::complex<double>(0.3, -2));
    const ImageError error =
        compare(result_of(flat), result_of(blobs(128, 128)), kCentralHalf).comparison.error;
    EXPECT_NEAR(error.nrmse_contrast, 1, 1e-12) << side;
    EXPECT_NEAR(error.tiles->median, 1, 1e-12) << side;
    EXPECT_LT(error.ssim_amplitude.value(), 0.3) << side;
    EXPECT_DOUBLE_EQ(error.frc.half, 4.0 / 64) << side;
  }
}

TEST(Compare, TheGuessesAreTheScoresOfTheseImages) {
  const at::Tensor truth = blobs(128, 128);
  const Comparison of_itself = compare_in_window(truth, truth, kCentralHalf).comparison;
  const Comparison of_flat =
      compare_in_window(at::ones_like(truth), truth, kCentralHalf).comparison;
  EXPECT_DOUBLE_EQ(of_itself.flat.nrmse_contrast, of_flat.error.nrmse_contrast);
  EXPECT_DOUBLE_EQ(of_itself.flat.phase_rmse_rad, of_flat.error.phase_rmse_rad);
  // Spots of sigma 2 px become sqrt(5) px wide and lower; their correlation is blind to that.
  EXPECT_GT(of_itself.blurred.nrmse_contrast, 0.05);
  EXPECT_LT(of_itself.blurred.nrmse_contrast, 0.5);
  EXPECT_GT(of_itself.blurred.frc.half_bit, 0.3);
}

TEST(Compare, ADriftShowsAsAWholeAndNotPerTile) {
  const at::Tensor truth = blobs(128, 128);
  const ImageError small = compare_in_window(drifted(0.5), truth, kCentralHalf).comparison.error;
  const ImageError large = compare_in_window(drifted(2), truth, kCentralHalf).comparison.error;
  EXPECT_GT(large.nrmse_contrast, 3 * small.nrmse_contrast);
  EXPECT_GT(large.low_frequency_phase_rad, 3 * small.low_frequency_phase_rad);
  EXPECT_LT(large.tiles->median, large.nrmse_contrast / 2);
  EXPECT_NEAR(large.low_frequency_phase_rad, large.phase_rmse_rad, 0.2 * large.phase_rmse_rad);
}

TEST(Compare, CountsTheTilesThatFitTheWindow) {
  const at::Tensor truth = blobs(128, 128);
  const auto tiles = [&](const Window& window) {
    return compare_in_window(truth, truth, window).comparison.error.tiles;
  };
  EXPECT_EQ(tiles({32, 96, 32, 96})->tiles, 4);
  EXPECT_EQ(tiles({20, 119, 30, 75})->tiles, 3);
  EXPECT_FALSE(tiles({32, 63, 32, 96}).has_value());
}

TEST(TileError, PassesOverTilesWithoutContrast) {
  at::Tensor truth = blobs(128, 128);
  truth.narrow(0, 32, 32).narrow(1, 32, 32).fill_(1);
  EXPECT_EQ(tile_error(truth, truth, kCentralHalf, {})->tiles, 3);
  EXPECT_FALSE(tile_error(at::ones_like(truth), truth, kCentralHalf, {}).has_value());
}

TEST(Compare, TheWindowIsTheLitPartOfTheCentralHalfOfBoth) {
  Reconstruction image = result_of(blobs(128, 128)), reference = result_of(blobs(128, 128));
  EXPECT_EQ(compare(image, reference).comparison.window, kCentralHalf);
  image.coverage = at::ones({128, 128}, at::kFloat);
  image.coverage.narrow(0, 0, 50).fill_(0);
  reference.coverage = at::ones({128, 128}, at::kFloat);
  reference.coverage.narrow(1, 90, 38).fill_(0);
  EXPECT_EQ(compare(image, reference).comparison.window, (Window{50, 96, 32, 90}));
}

TEST(Compare, TheFramesOfTheFilesCountAsNoShift) {
  Reconstruction image = result_of(blobs(128, 128).narrow(0, 10, 100).narrow(1, 4, 120));
  image.origin_row = 10;
  image.origin_col = 4;
  const Gauge gauge = compare(image, result_of(blobs(128, 128))).comparison.gauge;
  EXPECT_NEAR(gauge.shift_row_px, 0, 1e-4);
  EXPECT_NEAR(gauge.shift_col_px, 0, 1e-4);
}

TEST(TruthError, HasThePixelOfTheImageAndSaysNothingOfIt) {
  const at::Tensor object = blobs(128, 128);
  Reconstruction image = lit(object.size(0), object.size(1), 0, 0);
  image.object = object.to(at::kComplexFloat).unsqueeze(0);
  image.geometry.object_pixel_m = 5e-8;
  testing::internal::CaptureStderr();
  const std::optional<Comparison> found = truth_error(object, image);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->object_pixel_m, 5e-8);
}

TEST(Compare, RefusesPixelsOfAWhollyOtherSizeWithBothNumbers) {
  Reconstruction image = result_of(blobs(64, 64)), reference = result_of(blobs(64, 64));
  reference.geometry.object_pixel_m = 10e-9;
  image.geometry.object_pixel_m = 10.005e-9;
  EXPECT_EQ(refusal(image, reference), "");
  image.geometry.object_pixel_m = 250e-9;
  const std::string text = refusal(image, reference);
  EXPECT_NE(text.find("10 nm"), std::string::npos) << text;
  EXPECT_NE(text.find("250 nm"), std::string::npos) << text;
}

TEST(Compare, RefusesTooLittleOverlapWithBothNumbers) {
  Reconstruction image = result_of(blobs(128, 128));
  image.coverage = at::zeros({128, 128}, at::kFloat);
  image.coverage.narrow(0, 40, 12).fill_(1);
  const std::string text = refusal(image, result_of(blobs(128, 128)));
  EXPECT_NE(text.find("16 x 16"), std::string::npos) << text;
  EXPECT_NE(text.find("found 15 x 64"), std::string::npos) << text;
}

TEST(Compare, RefusesAReferenceWithoutStructureAndValuesThatAreNotFinite) {
  const Reconstruction flat = result_of(at::ones({64, 64}, at::kComplexDouble));
  EXPECT_NE(refusal(result_of(blobs(64, 64)), flat).find("constant"), std::string::npos);
  Reconstruction broken = result_of(blobs(64, 64));
  broken.object[0][3][4] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(refusal(broken, result_of(blobs(64, 64))).find("NaN"), std::string::npos);
}

}  // namespace
}  // namespace ptyche
