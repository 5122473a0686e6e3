// What is done to probes and exit waves for parity with PtychoPINN: smoothing, masks, scales.
#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/ptychopinn/amplitude_scale.h"
#include "ptyche/ptychopinn/calibrate_probe.h"
#include "ptyche/ptychopinn/probe_mask.h"
#include "ptyche/ptychopinn/smooth.h"
#include "ptyche/simulate/default_probe.h"
#include "ptyche/simulate/gaussian_filter.h"
#include "ptyche/simulate/zernike.h"
#include "tests/support/checks.h"

namespace ptyche {
namespace {

TEST(Smooth, HasItsAdjointInBothPrecisions) {
  const auto forward = [](const at::Tensor& x) { return smooth(x, 0.7); };
  const auto adjoint = [](const at::Tensor& y) { return smooth_adjoint(y, 0.7); };
  for (const auto& shape : {std::vector<std::int64_t>{2, 3, 8, 9}, {2, 2}, {3, 2}}) {
    EXPECT_LT(adjoint_mismatch(forward, adjoint, shape, shape), 1e-12);
    EXPECT_LT(adjoint_mismatch(forward, adjoint, shape, shape, at::kComplexFloat), 1e-6);
  }
}

TEST(Smooth, HasTheGradientOfCentralDifferences) {
  const at::Tensor waves = random_tensor({2, 6, 5}, at::kComplexDouble, 1);
  const auto loss = [](const at::Tensor& x) {
    return smooth(x, 0.7).abs().square().square().sum();
  };
  EXPECT_LT(gradient_mismatch(loss, waves), 1e-6);
}

TEST(Smooth, SpreadsAPointAsAGaussianAndMirrorsAtTheBorder) {
  const double side = std::exp(-0.5 / (0.7 * 0.7)), sum = 1 + 2 * side;
  at::Tensor point = at::zeros({5, 5}, at::kDouble);
  point[2][2] = 1;
  const at::Tensor inside = smooth(point, 0.7);
  EXPECT_NEAR(inside[2][2].item<double>(), 1 / (sum * sum), 1e-15);
  EXPECT_NEAR(inside[1][3].item<double>(), side * side / (sum * sum), 1e-15);
  at::Tensor column = at::zeros({5, 5}, at::kDouble);
  column.select(1, 1).fill_(1);
  // The column beside the border counts twice there: it is its own mirror image.
  EXPECT_NEAR(smooth(column, 0.7)[2][0].item<double>(), 2 * side / sum, 1e-15);
}

TEST(Smooth, LeavesAConstantAndSigmaZeroAlone) {
  const at::Tensor flat = at::full({4, 6}, 2.5, at::kDouble);
  EXPECT_LT(relative_difference(smooth(flat, 1.3), flat), 1e-14);
  const at::Tensor waves = random_tensor({4, 6}, at::kComplexFloat, 1);
  EXPECT_TRUE(at::equal(smooth(waves, 0), waves));
  EXPECT_TRUE(at::equal(smooth_adjoint(waves, 0), waves));
}

TEST(Smooth, RefusesImagesWithoutAMirrorAndImpossibleWidths) {
  EXPECT_THROW(smooth(at::zeros({1, 6}), 1), InvalidInput);
  EXPECT_THROW(smooth(at::zeros({6, 6}), -1), InvalidInput);
  EXPECT_THROW(smooth(at::zeros({6, 6}), NAN), InvalidInput);
}

TEST(GaussianFilter, KeepsTheSumAndWidensByItsVariance) {
  at::Tensor point = at::zeros({61, 61}, at::kDouble);
  point[30][30] = 1;
  const at::Tensor blurred = gaussian_filter(point, 2.5);
  const at::Tensor axis = at::arange(61, at::kDouble) - 30;
  EXPECT_NEAR(blurred.sum().item<double>(), 1, 1e-12);
  EXPECT_NEAR((blurred.sum(1) * axis.square()).sum().item<double>(), 2.5 * 2.5, 0.02);
}

TEST(GaussianFilter, MirrorsAnImageSmallerThanItsReach) {
  const at::Tensor image = random_tensor({3, 4}, at::kDouble, 1);
  const at::Tensor wide = at::cat({image, image.flip(0), image, image.flip(0), image}, 0);
  const at::Tensor both = at::cat({wide, wide.flip(1), wide, wide.flip(1), wide}, 1);
  const at::Tensor expected = gaussian_filter(both, 1).narrow(0, 6, 3).narrow(1, 8, 4);
  EXPECT_LT(relative_difference(gaussian_filter(image, 1), expected), 1e-12);
}

TEST(ProbeMask, IsADiscOfAQuarterOfTheFrameBetweenTheCentralPixels) {
  const at::Tensor mask = hard_probe_mask(64);
  EXPECT_EQ(mask.scalar_type(), at::kBool);
  EXPECT_TRUE(at::equal(mask, mask.flip(0)));
  EXPECT_TRUE(at::equal(mask, mask.t()));
  EXPECT_NEAR(mask.sum().item<double>(), M_PI * 16 * 16, 10);
}

TEST(ProbeMask, WithASoftEdgeIsOneInsideAndHalfAtItsRim) {
  const at::Tensor mask = soft_probe_mask(64);
  EXPECT_EQ(mask.max().item<double>(), 1);
  EXPECT_NEAR(mask[32][32 + 15].item<double>(), 0.5, 0.25);
  EXPECT_NEAR(mask[32][32 + 11].item<double>(), 1, 1e-6);
  EXPECT_EQ(mask[32][32 + 20].item<double>(), 0);
  EXPECT_NEAR(soft_probe_mask(64, 40).sum().item<double>(), M_PI * 20 * 20, 10);
  EXPECT_THROW(soft_probe_mask(64, 40, 0), InvalidInput);
}

// Numbers of PtychoPINN at N = 64: 376 px in the disc, sum of squares 400.819 at probe_scale 10.
TEST(DefaultProbe, HasTheAreaAndPowerOfPtychoPinns) {
  const at::Tensor probe = default_probe(64);
  EXPECT_EQ(probe.gt(0.5).sum().item<int>(), 376);
  const at::Tensor set = calibrate_probe_to_mean(probe, hard_probe_mask(64), 10);
  EXPECT_NEAR(set.square().sum().item<double>(), 400.819, 0.001);
  EXPECT_NEAR(set.min().item<double>(), 1.08936170e-09, 1e-17);
  EXPECT_THROW(default_probe(4), InvalidInput);
}

TEST(CalibrateProbeToMean, GivesAllModesOneFactor) {
  const at::Tensor probe = random_tensor({3, 16, 16}, at::kComplexFloat, 1);
  const at::Tensor mask = hard_probe_mask(16), set = calibrate_probe_to_mean(probe, mask, 4);
  EXPECT_NEAR((set.abs() * mask).mean().item<double>(), 0.25, 1e-6);
  const at::Tensor factor = set / probe;
  EXPECT_LT((factor - factor[0][0][0]).abs().max().item<double>(), 1e-6);
}

TEST(CalibrateProbeToMean, RefusesAnotherMaskAndADarkProbe) {
  const at::Tensor probe = at::ones({16, 16});
  EXPECT_THROW(calibrate_probe_to_mean(probe, hard_probe_mask(8), 4), InvalidInput);
  EXPECT_THROW(calibrate_probe_to_mean(probe * 0, hard_probe_mask(16), 4), InvalidInput);
  EXPECT_THROW(calibrate_probe_to_mean(probe, hard_probe_mask(16), 0), InvalidInput);
}

TEST(AmplitudeNorm, SetsTheMeanPowerOfThePatterns) {
  const at::Tensor raw = random_tensor({3, 2, 16, 16}, at::kFloat, 1).abs();
  const at::Tensor normal = raw.to(at::kDouble) * amplitude_norm(raw);
  EXPECT_NEAR(normal.square().sum({2, 3}).mean().item<double>(), 64, 1e-6);
  const double scale = intensity_scale(1e9, 16);
  EXPECT_NEAR((scale * normal).square().sum({2, 3}).mean().item<double>(), 1e9, 1);
  EXPECT_NEAR(intensity_scale(1e9, 64), 988.2117688, 1e-6);
  EXPECT_THROW(amplitude_norm(raw * 0), InvalidInput);
  EXPECT_THROW(intensity_scale(0, 64), InvalidInput);
}

TEST(Zernike, IsOrthonormalOverTheDisc) {
  const std::int64_t size = 400, count = 15;
  const at::Tensor axis = (at::arange(size, at::kDouble) + 0.5) / (0.5 * size) - 1;
  const at::Tensor radius = at::hypot(axis.unsqueeze(1), axis),
                   angle = at::atan2(axis.unsqueeze(1), axis);
  const at::Tensor inside = radius.le(1);
  std::vector<at::Tensor> rows;
  for (std::int64_t j = 1; j <= count; ++j)
    rows.push_back(zernike(j, radius, angle).masked_select(inside));
  const at::Tensor all = at::stack(rows);
  const at::Tensor gram = all.mm(all.t()) / inside.sum();
  EXPECT_LT((gram - at::eye(count, at::kDouble)).abs().max().item<double>(), 0.02);
}

// Noll's table I.
TEST(Zernike, HasNollsOrder) {
  const at::Tensor radius = at::full({1}, 0.7, at::kDouble),
                   angle = at::full({1}, 0.4, at::kDouble);
  const double r = 0.7, t = 0.4;
  const std::vector<double> expected = {1,
                                        2 * r * std::cos(t),
                                        2 * r * std::sin(t),
                                        std::sqrt(3) * (2 * r * r - 1),
                                        std::sqrt(6) * r * r * std::sin(2 * t),
                                        std::sqrt(6) * r * r * std::cos(2 * t),
                                        std::sqrt(8) * (3 * r * r * r - 2 * r) * std::sin(t),
                                        std::sqrt(8) * (3 * r * r * r - 2 * r) * std::cos(t),
                                        std::sqrt(8) * r * r * r * std::sin(3 * t),
                                        std::sqrt(8) * r * r * r * std::cos(3 * t),
                                        std::sqrt(5) * (6 * r * r * r * r - 6 * r * r + 1)};
  for (std::size_t j = 0; j < expected.size(); ++j)
    EXPECT_NEAR(zernike(static_cast<std::int64_t>(j) + 1, radius, angle).item<double>(),
                expected[j], 1e-12)
        << "Noll " << j + 1;
  EXPECT_THROW(zernike(0, radius, angle), InvalidInput);
}

}  // namespace
}  // namespace ptyche
