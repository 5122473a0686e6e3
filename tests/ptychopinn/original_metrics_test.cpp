#include "ptyche/ptychopinn/original_metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "ptyche/core/error.h"
#include "tests/evaluate/blobs.h"

namespace ptyche {
namespace {

/// Blobs without phase: what the grid workflow simulates by default.
at::Tensor without_phase() { return blobs(64, 64).abs().to(at::kComplexDouble); }

/// Amplitude 1, a phase of `size` rad.
at::Tensor weak_phase(double size) {
  const at::Tensor phase = size * at::real(blobs(64, 64) - 1);
  return at::polar(at::ones_like(phase), phase);
}

std::string refusal(const at::Tensor& truth, const at::Tensor& image) {
  try {
    original_metrics(truth, image);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "";
}

TEST(OriginalMetrics, OfAPerfectImageAreNoErrorAndTheWholeCurve) {
  const at::Tensor truth = blobs(64, 64);
  const OriginalMetrics found = original_metrics(truth, truth);
  for (const OriginalNumbers& numbers : {found.amplitude, found.phase}) {
    EXPECT_EQ(numbers.mae, 0);
    EXPECT_EQ(numbers.mse, 0);
    EXPECT_NEAR(numbers.psnr, 361.2, 0.1);
    EXPECT_NEAR(numbers.ssim, 1, 1e-12);
    EXPECT_NEAR(numbers.ms_ssim, 1, 1e-12);
    EXPECT_EQ(numbers.frc.size(), 43u);  // round(30 sqrt 2) = 42 is the corner's ring
    EXPECT_EQ(numbers.frc50, 43);
    EXPECT_EQ(numbers.frc1over7, 43);
  }
}

TEST(OriginalMetrics, ForgiveAScaleOfTheAmplitudeAndAPlaneOfThePhase) {
  const at::Tensor truth = weak_phase(0.2);
  const at::Tensor index = at::arange(64, at::kDouble);
  const at::Tensor plane = 0.01 * index.unsqueeze(1) - 0.006 * index + 0.4;
  const at::Tensor image = truth * at::polar(at::full_like(plane, 3), plane);
  const OriginalMetrics found = original_metrics(truth, image);
  EXPECT_LT(found.amplitude.mae, 1e-14);
  EXPECT_LT(found.phase.mae, 1e-14);
}

TEST(OriginalMetrics, MeasureSignalToNoiseOverAPeakOf255) {
  const at::Tensor truth = weak_phase(0.2), image = weak_phase(0.1);
  const OriginalNumbers phase = original_metrics(truth, image).phase;
  EXPECT_NEAR(phase.psnr, 48.1308036 - 10 * std::log10(phase.mse), 1e-6);
}

// The trap: a truth without phase gives every phase that is flat the best of all similarities.
TEST(OriginalMetrics, CallAFlatPhaseOfATruthWithoutPhasePerfect) {
  const at::Tensor truth = without_phase();
  const OriginalNumbers phase = original_metrics(truth, at::ones_like(truth)).phase;
  EXPECT_NEAR(phase.ssim, 1, 1e-12);
  EXPECT_EQ(phase.mae, 0);
  EXPECT_TRUE(std::isnan(phase.frc50));
}

TEST(OriginalMetrics, CallAFlatPhaseOfAWeakPhaseNearlyPerfect) {
  const at::Tensor truth = weak_phase(0.02);
  EXPECT_GT(original_metrics(truth, at::ones_like(truth)).phase.ssim, 0.98);
}

TEST(OriginalMetrics, CountAPhaseOfTheWrongSignAsAgreementOfRings) {
  const at::Tensor truth = weak_phase(0.2);
  const OriginalNumbers phase = original_metrics(truth, truth.conj()).phase;
  EXPECT_NEAR(*std::min_element(phase.frc.begin(), phase.frc.end()), 1, 1e-9);
  EXPECT_EQ(phase.frc50, 43);
  EXPECT_LT(phase.ms_ssim, 0.1);
}

TEST(OriginalMetrics, SmoothTheCurvesOnlyForTheirCrossings) {
  const at::Tensor truth = weak_phase(0.2);
  const at::Tensor image =
      weak_phase(0.2) *
      at::polar(at::ones({64, 64}, at::kDouble),
                0.1 * (at::arange(4096, at::kDouble).square().view({64, 64}) * 0.37).sin());
  const OriginalNumbers sharp = original_metrics(truth, image).phase;
  const OriginalNumbers smooth = original_metrics(truth, image, {.frc_sigma = 2}).phase;
  EXPECT_EQ(sharp.frc, smooth.frc);
  EXPECT_NE(sharp.frc50, smooth.frc50);
}

TEST(OriginalMetrics, RefuseImagesByName) {
  const at::Tensor truth = blobs(32, 32);
  EXPECT_EQ(refusal(truth, blobs(32, 30)),
            "image: expected a square image of at least 12 pixels a side, found 32 x 30");
  EXPECT_EQ(refusal(blobs(30, 32), truth),
            "truth: expected a square image of at least 12 pixels a side, found 30 x 32");
  EXPECT_EQ(refusal(truth, blobs(40, 40)),
            "image: expected the truth's shape 32 x 32, found 40 x 40");
  EXPECT_EQ(refusal(truth, blobs(10, 10)),
            "image: expected a square image of at least 12 pixels a side, found 10 x 10");
  EXPECT_EQ(refusal(truth * std::nan(""), truth),
            "truth: expected finite values, found NaN or infinity");
}

}  // namespace
}  // namespace ptyche
