// Family f: PtychoPINN's evaluation numbers.
#include <gtest/gtest.h>

#include "ptyche/data/array.h"
#include "ptyche/evaluate/align.h"
#include "ptyche/evaluate/image_error.h"
#include "ptyche/ptychopinn/metrics.h"
#include "tests/support/golden.h"

namespace ptyche {
namespace {

PtychoPinnMetrics metrics_of(const GoldenFile& golden, PtychoPinnMetricsOptions options) {
  options.trim_px = golden.integer("trim_px_each_side");
  return ptychopinn_metrics(golden.array("gt"), golden.array("recon"), options);
}

/// The numbers are single ones, so that each must agree to 1e-5 of itself.
void expect_numbers(const GoldenFile& golden, const std::string& prefix,
                    const PtychoPinnMetrics& found) {
  const auto expect = [&](const std::string& name, double PtychoPinnNumbers::*number) {
    const at::Tensor pair = at::tensor({found.amplitude.*number, found.phase.*number}, at::kDouble);
    EXPECT_TRUE(agrees(pair, golden.array(prefix + name), 1e-5, 0)) << prefix << name;
  };
  expect("mae", &PtychoPinnNumbers::mae);
  expect("mse", &PtychoPinnNumbers::mse);
  expect("psnr", &PtychoPinnNumbers::psnr);
  expect("ssim", &PtychoPinnNumbers::ssim);
  expect("ms_ssim", &PtychoPinnNumbers::ms_ssim);
  expect("frc50", &PtychoPinnNumbers::frc50);
  expect("frc1over7", &PtychoPinnNumbers::frc1over7);
}

at::Tensor as_tensor(const std::vector<double>& curve) { return at::tensor(curve, at::kDouble); }

TEST(GoldenMetrics, ArePtychoPinnsWithPhasePlanesRemoved) {
  for_each_golden("f_metrics", [](const GoldenFile& golden) {
    const PtychoPinnMetrics found = metrics_of(golden, {});
    expect_numbers(golden, "", found);
    EXPECT_TRUE(agrees(as_tensor(found.phase.frc), golden.array("frc_phase"), 1e-5, 1e-5));
    // PtychoPINN's amplitudes are float32, whose rounding shows in the darkest rings (7e-5).
    EXPECT_TRUE(agrees(as_tensor(found.amplitude.frc), golden.array("frc_amp"), 0, 1e-4));
  });
}

TEST(GoldenMetrics, ArePtychoPinnsWithMeanPhasesRemovedAndSmoothedCurves) {
  for_each_golden("f_metrics", [](const GoldenFile& golden) {
    expect_numbers(golden, "meanalign_",
                   metrics_of(golden, {.phase = PhaseAlignment::mean, .frc_sigma = 1}));
  });
}

TEST(GoldenMetrics, RemovePtychoPinnsPhasePlane) {
  for_each_golden("f_metrics", [](const GoldenFile& golden) {
    const std::int64_t trim = golden.integer("trim_px_each_side");
    const at::Tensor image = golden.array("recon").to(at::kComplexDouble);
    const at::Tensor inner = image.slice(0, trim, -trim).slice(1, trim, -trim);
    EXPECT_TRUE(agrees(without_plane(inner.angle()), golden.array("recon_phase_plane_removed")));
  });
}

TEST(GoldenMetrics, CrossThresholdsWherePtychoPinnDoes) {
  for_each_golden("f_frc_crossing", [](const GoldenFile& golden) {
    const at::Tensor thresholds = golden.array("thresholds"), expected = golden.array("crossings");
    for (std::int64_t k = 0; k < expected.size(0); ++k) {
      const at::Tensor curve = golden.array("curve" + std::to_string(k));
      EXPECT_NEAR(falling_ring(to_vector(curve - thresholds[k]), 0), expected[k].item<double>(),
                  1e-12)
          << "curve " << k;
    }
  });
}

// PtychoPINN's own registration, phase correlation refined to 1/50 px, is only good to about
// 0.05 px (half a pixel on smooth objects); it gives the shift that undoes the true one.
TEST(GoldenMetrics, AlignmentFindsTheTrueShiftCloserThanPtychoPinn) {
  for_each_golden("f_metrics", [](const GoldenFile& golden) {
    const at::Tensor reference = golden.array("reg_reference"), moved = golden.array("reg_moved");
    const Window inner{8, reference.size(0) - 8, 8, reference.size(1) - 8};
    const Gauge gauge = align(reference, moved, inner).gauge;
    const at::Tensor undone = -at::tensor({gauge.shift_row_px, gauge.shift_col_px}, at::kDouble);
    const at::Tensor truth = golden.array("reg_true_shift_dy_dx").to(at::kDouble);
    const double error = (undone - truth).abs().max().item<double>();
    const double of_ptychopinn =
        (golden.array("reg_found_dy_dx") + truth).abs().max().item<double>();
    EXPECT_LT(error, 0.05);
    EXPECT_LT(error, of_ptychopinn);
    EXPECT_LT(of_ptychopinn, 0.06);
  });
}

}  // namespace
}  // namespace ptyche
