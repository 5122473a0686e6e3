#include "ptyche/ptychopinn/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "ptyche/core/error.h"
#include "ptyche/evaluate/image_error.h"
#include "tests/evaluate/blobs.h"
#include "tests/support/refusal.h"

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
  return message_of([&] { ptychopinn_metrics(truth, image); });
}

TEST(PtychoPinnMetrics, OfAPerfectImageAreNoErrorAndTheWholeCurve) {
  const at::Tensor truth = blobs(64, 64);
  const PtychoPinnMetrics found = ptychopinn_metrics(truth, truth);
  for (const PtychoPinnNumbers& numbers : {found.amplitude, found.phase}) {
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

TEST(PtychoPinnMetrics, ForgiveAScaleOfTheAmplitudeAndAPlaneOfThePhase) {
  const at::Tensor truth = weak_phase(0.2);
  const at::Tensor index = at::arange(64, at::kDouble);
  const at::Tensor plane = 0.01 * index.unsqueeze(1) - 0.006 * index + 0.4;
  const at::Tensor image = truth * at::polar(at::full_like(plane, 3), plane);
  const PtychoPinnMetrics found = ptychopinn_metrics(truth, image);
  EXPECT_LT(found.amplitude.mae, 1e-14);
  EXPECT_LT(found.phase.mae, 1e-14);
}

TEST(PtychoPinnMetrics, MeasureSignalToNoiseOverAPeakOf255) {
  const at::Tensor truth = weak_phase(0.2), image = weak_phase(0.1);
  const PtychoPinnNumbers phase = ptychopinn_metrics(truth, image).phase;
  EXPECT_NEAR(phase.psnr, 48.1308036 - 10 * std::log10(phase.mse), 1e-6);
}

// The trap: a truth without phase gives every phase that is flat the best of all similarities.
TEST(PtychoPinnMetrics, CallAFlatPhaseOfATruthWithoutPhasePerfect) {
  const at::Tensor truth = without_phase();
  const PtychoPinnNumbers phase = ptychopinn_metrics(truth, at::ones_like(truth)).phase;
  EXPECT_NEAR(phase.ssim, 1, 1e-12);
  EXPECT_EQ(phase.mae, 0);
  EXPECT_TRUE(std::isnan(phase.frc50));
}

TEST(PtychoPinnMetrics, CallAFlatPhaseOfAWeakPhaseNearlyPerfect) {
  const at::Tensor truth = weak_phase(0.02);
  EXPECT_GT(ptychopinn_metrics(truth, at::ones_like(truth)).phase.ssim, 0.98);
}

TEST(PtychoPinnMetrics, CountAPhaseOfTheWrongSignAsAgreementOfRings) {
  const at::Tensor truth = weak_phase(0.2);
  const PtychoPinnNumbers phase = ptychopinn_metrics(truth, truth.conj()).phase;
  EXPECT_NEAR(*std::min_element(phase.frc.begin(), phase.frc.end()), 1, 1e-9);
  EXPECT_EQ(phase.frc50, 43);
  EXPECT_LT(phase.ms_ssim, 0.1);
}

TEST(PtychoPinnMetrics, SmoothTheCurvesOnlyForTheirCrossings) {
  const at::Tensor truth = weak_phase(0.2);
  const at::Tensor image =
      weak_phase(0.2) *
      at::polar(at::ones({64, 64}, at::kDouble),
                0.1 * (at::arange(4096, at::kDouble).square().view({64, 64}) * 0.37).sin());
  const PtychoPinnNumbers sharp = ptychopinn_metrics(truth, image).phase;
  const PtychoPinnNumbers smooth = ptychopinn_metrics(truth, image, {.frc_sigma = 2}).phase;
  EXPECT_EQ(sharp.frc, smooth.frc);
  EXPECT_NE(sharp.frc50, smooth.frc50);
}

TEST(PtychoPinnMetrics, RefuseImagesByName) {
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

TEST(AlignedMetrics, OfAPerfectImageLeaveNoError) {
  const AlignedMetrics found = aligned_metrics(blobs(64, 64), blobs(64, 64), 2);
  EXPECT_LT(found.nrmse_contrast, 1e-12);
  EXPECT_GT(found.psnr_amplitude, 200);
  EXPECT_GT(found.psnr_phase, 200);
}

TEST(AlignedMetrics, AreBlindToWhatPtychographyCannotKnow) {
  const Planted gauge{1.37, -0.81, 0.0071, -0.0193, {2, -1}};
  const AlignedMetrics found = aligned_metrics(blobs(128, 128), blobs(128, 128, gauge), 8);
  EXPECT_LT(found.nrmse_contrast, 0.01);
  EXPECT_GT(found.psnr_phase, 40);
}

TEST(AlignedMetrics, TakeTheTruthsOwnRange) {
  const at::Tensor truth = blobs(64, 64), flat = at::ones_like(truth);
  const AlignedMetrics found = aligned_metrics(truth, flat, 0);
  const at::Tensor error = truth.abs() - truth.mean().abs();
  const double rms = std::sqrt(error.square().mean().item<double>());
  EXPECT_NEAR(found.psnr_amplitude, 20 * std::log10(range_of(truth.abs()) / rms), 1e-9);
  const at::Tensor phase = centred_phase(truth);
  const double phase_rms = std::sqrt(phase.square().mean().item<double>());
  EXPECT_NEAR(found.psnr_phase, 20 * std::log10(range_of(phase) / phase_rms), 1e-9);
}

TEST(AlignedMetrics, AreNotDefinedForAConstantTruth) {
  const at::Tensor flat = at::ones({32, 32}, at::kComplexDouble);
  const AlignedMetrics found = aligned_metrics(flat, blobs(32, 32), 2);
  EXPECT_TRUE(std::isnan(found.nrmse_contrast));
  EXPECT_TRUE(std::isnan(found.psnr_amplitude));
  EXPECT_TRUE(std::isnan(found.psnr_phase));
}

// Where PtychoPINN's similarity calls a flat phase perfect, the score beside it says that
// nothing was found.
TEST(MetricsBesideFlat, ShowWhatAFlatObjectGets) {
  const at::Tensor truth = blobs(64, 64).abs().to(at::kComplexDouble);
  const MetricsBesideFlat found = metrics_beside_flat(truth, truth);
  EXPECT_NEAR(found.image.ptychopinn.phase.ssim, 1, 1e-12);
  EXPECT_NEAR(found.flat.ptychopinn.phase.ssim, 1, 1e-12);
  EXPECT_LT(found.flat.ptychopinn.amplitude.ssim, 0.5);
  EXPECT_LT(found.image.aligned.nrmse_contrast, 1e-12);
  EXPECT_NEAR(found.flat.aligned.nrmse_contrast, 1, 1e-12);
  EXPECT_TRUE(std::isnan(found.flat.aligned.psnr_phase));
}

TEST(FallingRing, IsNotDefinedBehindAnUndefinedRing) {
  const double none = std::nan("");
  EXPECT_DOUBLE_EQ(falling_ring({0.5, none, -0.5}, 0), 1);
  EXPECT_DOUBLE_EQ(falling_ring({0.5, none, 0.5, -0.5}, 0), 2.5);
  EXPECT_DOUBLE_EQ(falling_ring({none, -0.5}, 0), 1);
  EXPECT_DOUBLE_EQ(falling_ring({0.5, none, 0.5}, 0), 3);
  EXPECT_TRUE(std::isnan(falling_ring({0.5, none, none}, 0)));
  EXPECT_DOUBLE_EQ(falling_ring({0.5, -0.5, none}, 0), 0.5);
  EXPECT_DOUBLE_EQ(falling_ring({-0.5, none}, 0), 0);
  EXPECT_DOUBLE_EQ(falling_ring({0.5, 0.1}, 0), 2);
}

MetricsBesideFlat sample_metrics() {
  MetricsBesideFlat metrics;
  metrics.image.ptychopinn.amplitude = {.mae = 0.1, .frc50 = 12.5, .frc = {1, 0.5}};
  metrics.image.ptychopinn.phase = {.mae = 0.2, .frc50 = std::nan(""), .frc = {1, std::nan("")}};
  metrics.image.aligned = {0.3, 20, std::numeric_limits<double>::infinity()};
  metrics.flat.ptychopinn.phase.ssim = 1;
  metrics.flat.aligned.nrmse_contrast = 1;
  return metrics;
}

TEST(MetricsJson, HoldsPtychoPinnsNamesInPairsOfAmplitudeAndPhase) {
  const auto json = nlohmann::json::parse(metrics_json({{"pinn", sample_metrics()}}));
  const auto& model = json.at("pinn");
  EXPECT_EQ(model.at("mae"), nlohmann::json({0.1, 0.2}));
  for (const char* name : {"mse", "psnr", "ssim", "ms_ssim", "frc50", "frc1over7", "frc"})
    EXPECT_EQ(model.at(name).size(), 2u) << name;
  EXPECT_EQ(model.at("frc").at(0), nlohmann::json({1.0, 0.5}));
  EXPECT_EQ(model.at("nrmse_contrast"), 0.3);
  EXPECT_EQ(model.at("psnr_true_range").at(0), 20);
}

TEST(MetricsJson, PutsAFlatObjectBesideWithoutItsCurves) {
  const auto json = nlohmann::json::parse(metrics_json({{"pinn", sample_metrics()}}));
  const auto& flat = json.at("pinn").at("flat");
  EXPECT_EQ(flat.at("ssim"), nlohmann::json({0.0, 1.0}));
  EXPECT_EQ(flat.at("nrmse_contrast"), 1);
  EXPECT_FALSE(flat.contains("frc"));
  EXPECT_EQ(flat.size() + 2, json.at("pinn").size());
}

TEST(MetricsJson, WritesNullWhereThereIsNoNumber) {
  const auto json = nlohmann::json::parse(metrics_json({{"pinn", sample_metrics()}}));
  const auto& model = json.at("pinn");
  EXPECT_TRUE(model.at("frc50").at(1).is_null());
  EXPECT_TRUE(model.at("frc").at(1).at(1).is_null());
  EXPECT_TRUE(model.at("psnr_true_range").at(1).is_null());
}

TEST(MetricsJson, KeepsTheOrderOfTheModelsAndRefusesOneTwice) {
  const std::string text = metrics_json({{"pinn", {}}, {"baseline", {}}});
  EXPECT_LT(text.find("pinn"), text.find("baseline"));
  EXPECT_THROW(metrics_json({{"pinn", {}}, {"pinn", {}}}), InvalidInput);
  EXPECT_EQ(metrics_json({}), "{}\n");
}

}  // namespace
}  // namespace ptyche
