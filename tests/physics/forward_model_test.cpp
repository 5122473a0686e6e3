// The operators of the forward model: adjoints, gradients, and what each one promises.
#include "ptyche/physics/forward_model.h"

#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/physics/losses.h"
#include "tests/support/checks.h"

namespace ptyche {
namespace {

const at::Tensor kPatchCorners =
    at::tensor({0.0, 0.0, 3.25, 2.5, 4.0, 1.75}, at::kDouble).view({3, 2});

TEST(Propagate, HasItsInverseAsAdjoint) {
  EXPECT_LT(adjoint_mismatch(propagate_far_field, propagate_far_field_adjoint, {2, 1, 8, 8},
                             {2, 1, 8, 8}),
            1e-12);
}

TEST(Propagate, KeepsTheNumberOfPhotons) {
  const at::Tensor wave = random_tensor({3, 1, 16, 16}, at::kComplexDouble, 5);
  EXPECT_NEAR(propagate_far_field(wave).norm().item().toDouble() / wave.norm().item().toDouble(), 1,
              1e-12);
}

TEST(FourierShift, ByTheNegativeShiftIsItsAdjoint) {
  const at::Tensor shift = at::tensor({0.3, -0.45}, at::kDouble).view({1, 2});
  const auto forward = [&](const at::Tensor& x) { return fourier_shift(x, shift)[0]; };
  const auto adjoint = [&](const at::Tensor& y) { return fourier_shift(y, -shift)[0]; };
  EXPECT_LT(adjoint_mismatch(forward, adjoint, {2, 8, 8}, {2, 8, 8}), 1e-12);
}

TEST(FourierShift, ByWholePixelsRollsTheImage) {
  const at::Tensor image = random_tensor({1, 8, 8}, at::kComplexDouble, 1);
  const at::Tensor shift = at::tensor({2.0, -1.0}, at::kDouble).view({1, 2});
  EXPECT_LT(relative_difference(fourier_shift(image, shift)[0], at::roll(image, {2, -1}, {1, 2})),
            1e-12);
}

TEST(ExtractPatches, AddPatchesIsItsAdjoint) {
  const auto forward = [](const at::Tensor& x) { return extract_patches(x, kPatchCorners, 5); };
  const auto adjoint = [](const at::Tensor& y) {
    return add_patches(y, lay_on_object(kPatchCorners, 5, {10, 9}, Interpolation::bilinear))[0];
  };
  EXPECT_LT(adjoint_mismatch(forward, adjoint, {10, 9}, {3, 5, 5}), 1e-12);
}

TEST(ExtractPatches, InterpolatesAPlaneExactly) {
  const at::Tensor row = at::arange(10, at::kDouble).unsqueeze(1), col = at::arange(9, at::kDouble);
  const at::Tensor plane = 2 * row - 3 * col;
  const at::Tensor patch = extract_patches(plane, kPatchCorners.slice(0, 1, 2), 4)[0];
  EXPECT_LT(relative_difference(patch, plane.slice(0, 3, 7).slice(1, 2, 6) + 2 * 0.25 - 3 * 0.5),
            1e-12);
}

TEST(ExtractPatches, TakesAWholePixelPatchAtTheLastRowAndColumn) {
  const at::Tensor object = random_tensor({10, 9}, at::kComplexDouble, 3);
  const at::Tensor corner = at::tensor({5.0, 4.0}, at::kDouble).view({1, 2});
  EXPECT_TRUE(
      at::equal(extract_patches(object, corner, 5)[0], object.slice(0, 5, 10).slice(1, 4, 9)));
}

TEST(ExtractPatches, RefusesAPatchThatLeavesTheObject) {
  const at::Tensor object = at::zeros({10, 9}, at::kComplexDouble);
  for (const auto& corner :
       {at::tensor({5.1, 0.0}, at::kDouble), at::tensor({-0.1, 0.0}, at::kDouble)})
    EXPECT_THROW(extract_patches(object, corner.view({1, 2}), 5), InvalidInput);
}

TEST(ForwardModel, HasTheGradientOfCentralDifferencesInObjectProbeAndBackground) {
  const at::Tensor patches = random_tensor({2, 8, 8}, at::kComplexDouble, 1);
  const at::Tensor probe = random_tensor({2, 8, 8}, at::kComplexDouble, 2);
  const at::Tensor background = random_tensor({8, 8}, at::kDouble, 3).square() + 0.5;
  const at::Tensor counts = random_tensor({2, 8, 8}, at::kDouble, 4).square() * 3;
  const at::Tensor mask = random_tensor({8, 8}, at::kDouble, 5).gt(-1);
  const auto loss = [&](const at::Tensor& o, const at::Tensor& p, const at::Tensor& b) {
    return summed_loss(LossKind::poisson, expected_counts(propagate_far_field(exit_wave(p, o)), b),
                       counts, mask);
  };
  EXPECT_LT(gradient_mismatch([&](auto& x) { return loss(x, probe, background); }, patches), 1e-6);
  EXPECT_LT(gradient_mismatch([&](auto& x) { return loss(patches, x, background); }, probe), 1e-6);
  EXPECT_LT(gradient_mismatch([&](auto& x) { return loss(patches, probe, x); }, background), 1e-6);
}

TEST(Measure, AddsModesIncoherently) {
  const at::Tensor waves = random_tensor({1, 2, 4, 4}, at::kComplexDouble, 1);
  const at::Tensor expected = waves[0][0].abs().square() + waves[0][1].abs().square();
  EXPECT_LT(relative_difference(expected_counts(waves)[0], expected), 1e-12);
}

TEST(PoissonLoss, IsLeastWhereTheExpectationIsTheCount) {
  const at::Tensor counts = at::full({1, 2, 2}, 7.0, at::kDouble),
                   mask = at::ones({2, 2}, at::kBool);
  const auto at_intensity = [&](double value) {
    return summed_loss(LossKind::poisson, at::full({1, 2, 2}, value, at::kDouble), counts, mask)
        .item<double>();
  };
  EXPECT_NEAR(at_intensity(7), 0, 1e-15);
  EXPECT_GT(at_intensity(7.0001), 0);
  EXPECT_GT(at_intensity(6.9999), 0);
}

TEST(PoissonLoss, DoesNotSeeMaskedPixels) {
  const at::Tensor counts = at::zeros({1, 2, 2}, at::kDouble);
  at::Tensor intensity = at::ones({1, 2, 2}, at::kDouble), mask = at::ones({2, 2}, at::kBool);
  mask[0][1] = false;
  const double before = summed_loss(LossKind::poisson, intensity, counts, mask).item<double>();
  intensity[0][0][1] = 1e6;
  EXPECT_EQ(summed_loss(LossKind::poisson, intensity, counts, mask).item<double>(), before);
}

TEST(PoissonLoss, HasAFiniteGradientWherePhotonsCameAndNoneWereExpected) {
  const at::Tensor intensity = at::zeros({1, 1, 1}, at::kDouble).requires_grad_();
  summed_loss(LossKind::poisson, intensity, at::full({1, 1, 1}, 5.0, at::kDouble),
              at::ones({1, 1}, at::kBool))
      .backward();
  EXPECT_NEAR(intensity.grad().item<double>(), -5 / PoissonMisfit::kFloor, 1e-9);
}

TEST(ExitWave, RefusesAProbeOfAnotherSizeAndNamesBothShapes) {
  try {
    exit_wave(at::zeros({1, 8, 8}, at::kComplexFloat), at::zeros({2, 6, 6}, at::kComplexFloat));
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find("1 x 8 x 8"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("2 x 6 x 6"), std::string::npos);
  }
}

}  // namespace
}  // namespace ptyche
