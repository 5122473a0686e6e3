#include "ptyche/ptychopinn/metrics_beside_flat.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/evaluate/fourier_ring_correlation.h"
#include "ptyche/evaluate/image_error.h"
#include "tests/evaluate/blobs.h"

namespace ptyche {
namespace {

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

// Where the original's similarity calls a flat phase perfect, the score beside it says that
// nothing was found.
TEST(MetricsBesideFlat, ShowWhatAFlatObjectGets) {
  const at::Tensor truth = blobs(64, 64).abs().to(at::kComplexDouble);
  const MetricsBesideFlat found = metrics_beside_flat(truth, truth);
  EXPECT_NEAR(found.image.original.phase.ssim, 1, 1e-12);
  EXPECT_NEAR(found.flat.original.phase.ssim, 1, 1e-12);
  EXPECT_LT(found.flat.original.amplitude.ssim, 0.5);
  EXPECT_LT(found.image.aligned.nrmse_contrast, 1e-12);
  EXPECT_NEAR(found.flat.aligned.nrmse_contrast, 1, 1e-12);
  EXPECT_TRUE(std::isnan(found.flat.aligned.psnr_phase));
}

TEST(FallingRing, IsNotDefinedBehindAnUndefinedRing) {
  const double none = std::nan("");
  EXPECT_TRUE(std::isnan(falling_ring({0.5, none, -0.5}, 0)));
  EXPECT_DOUBLE_EQ(falling_ring({0.5, -0.5, none}, 0), 0.5);
  EXPECT_DOUBLE_EQ(falling_ring({-0.5, none}, 0), 0);
  EXPECT_DOUBLE_EQ(falling_ring({0.5, 0.1}, 0), 2);
}

}  // namespace
}  // namespace ptyche
