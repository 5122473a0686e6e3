// PtychoPINN's own operators: warp, smoothing, masks, scales.
#include "ptyche/ptychopinn/operators.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/physics/resample.h"
#include "ptyche/simulate/probes.h"
#include "tests/support/checks.h"
#include "tests/support/refusal.h"
#include "tests/support/sampling_cases.h"

namespace ptyche {
namespace {

/// A rotation by 20 degrees, a magnification with shear, and a perspective.
const at::Tensor kHomographies =
    at::tensor({0.9397, -0.3421, 1.3173, 0.3419,  0.9391, -2.1317, 0.0,    0.0,     1.0,
                1.2171, 0.1037,  -0.431, 0.0513,  0.8117, 0.7077,  0.0,    0.0,     1.0,
                0.9133, 0.0571,  0.3719, -0.0871, 1.1093, -0.2267, 0.0113, -0.0207, 1.0},
               at::kDouble)
        .view({3, 3, 3});

/// Homographies that translate.
at::Tensor as_homographies(const at::Tensor& shifts) {
  at::Tensor matrices = at::eye(3, at::kDouble).repeat({shifts.size(0), 1, 1});
  matrices.select(2, 2).narrow(1, 0, 2).copy_(-shifts);
  return matrices;
}

TEST(Warp, ByATranslationIsTranslate) {
  const at::Tensor images = random_tensor({3, 9, 8}, at::kComplexDouble, 1);
  for (const SamplingOptions options : kAllOptions)
    EXPECT_LT(relative_difference(warp(images, as_homographies(kShifts), options),
                                  translate(images, kShifts, options)),
              1e-14);
}

TEST(Warp, ByTheIdentityLeavesEveryTypeAsItIs) {
  for (const auto type : {at::kFloat, at::kDouble, at::kComplexFloat, at::kComplexDouble}) {
    const at::Tensor images = random_tensor({2, 6, 7}, type, 1);
    EXPECT_TRUE(at::equal(warp(images, at::eye(3).repeat({2, 1, 1})), images));
  }
}

TEST(Warp, ByAQuarterTurnTurnsAQuarter) {
  const at::Tensor image = random_tensor({5, 5}, at::kComplexFloat, 1);
  // Output (r, c) from input (c, 4 - r).
  const at::Tensor turn = at::tensor({0, 1, 0, -1, 0, 4, 0, 0, 1}, at::kDouble).view({3, 3});
  EXPECT_TRUE(at::equal(warp(image, turn), at::rot90(image, 1)));
}

TEST(Warp, DividesByThePerspectiveAndDoesNotSeeItsScale) {
  const at::Tensor plane = at::arange(9, at::kDouble).unsqueeze(1).expand({9, 9}).contiguous();
  const at::Tensor matrix = at::tensor({1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.1, 1.0}).view({3, 3});
  // Output (r, c) from row r / (1 + c / 10).
  EXPECT_NEAR(warp(plane, matrix.to(at::kDouble))[6][5].item<double>(), 6 / 1.5, 1e-6);
  const at::Tensor images = random_tensor({3, 9, 8}, at::kComplexDouble, 1);
  EXPECT_LT(relative_difference(warp(images, -2.5 * kHomographies), warp(images, kHomographies)),
            1e-12);
}

TEST(Warp, IsZeroWhereTheSourceIsAtInfinity) {
  const at::Tensor matrix =
      at::tensor({1, 0, 0, 0, 1, 0, 0, 1, -2}, at::kDouble).view({3, 3});  // w = c - 2
  for (const SamplingOptions options : kAllOptions) {
    const at::Tensor seen = warp(at::ones({5, 5}), matrix, options);
    EXPECT_EQ(seen.select(1, 2).abs().max().item<double>(), 0);
    EXPECT_TRUE(at::isfinite(seen).all().item<bool>());
  }
}

TEST(Warp, HasItsAdjointInBothPrecisions) {
  for (const SamplingOptions options : kAllOptions) {
    const auto forward = [&](const at::Tensor& x) { return warp(x, kHomographies, options); };
    const auto adjoint = [&](const at::Tensor& y) {
      return warp_adjoint(y, kHomographies, options);
    };
    EXPECT_LT(adjoint_mismatch(forward, adjoint, {3, 9, 8}, {3, 9, 8}), 1e-12);
    EXPECT_LT(adjoint_mismatch(forward, adjoint, {3, 9, 8}, {3, 9, 8}, at::kComplexFloat), 1e-6);
  }
}

TEST(Warp, HasTheGradientOfCentralDifferencesInImageAndHomography) {
  const at::Tensor images = random_tensor({3, 9, 8}, at::kComplexDouble, 1);
  const at::Tensor target = random_tensor({3, 9, 8}, at::kComplexDouble, 2);
  // Steps that move every source by about as much: a matrix acts on (r, c, 1) and divides.
  const at::Tensor step =
      at::tensor({0.1, 0.1, 1.0, 0.1, 0.1, 1.0, 0.001, 0.001, 0.01}, at::kDouble);
  for (const SamplingOptions options : kAllOptions) {
    const auto loss = [&](const at::Tensor& x, const at::Tensor& matrices) {
      return (warp(x, matrices, options) - target).abs().square().sum();
    };
    EXPECT_LT(gradient_mismatch([&](auto& x) { return loss(x, kHomographies); }, images), 1e-6);
    if (options.sampling == Sampling::nearest) continue;
    const auto stepped = [&](const at::Tensor& x) {
      return loss(images, kHomographies + step.view({3, 3}) * x);
    };
    EXPECT_LT(gradient_mismatch(stepped, at::zeros({3, 3, 3}, at::kDouble)), 1e-6);
  }
}

TEST(Warp, RefusesHomographiesOfAnotherShapeAndNamesBoth) {
  const at::Tensor images = at::zeros({3, 16, 17});
  for (const auto& shape : {std::vector<std::int64_t>{3, 3}, {3, 8}, {4, 3, 3}, {1, 3, 3}})
    for (const auto& warping : {warp, warp_adjoint}) {
      const at::Tensor matrices = at::zeros(shape, at::kDouble);
      const std::string said = message_of([&] { warping(images, matrices, {}); });
      EXPECT_NE(said.find("(3, 16, 17) float32"), std::string::npos) << said;
      EXPECT_NE(said.find(fmt::format("({}", fmt::join(shape, ", "))), std::string::npos) << said;
    }
}

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

// PtychoPINN's numbers at N = 64: 376 px in the disc, sum of squares 400.819 at probe_scale 10.
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

}  // namespace
}  // namespace ptyche
