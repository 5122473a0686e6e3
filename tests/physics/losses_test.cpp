// The losses: gradients, also where nothing was counted or expected, and masks.
#include "ptyche/physics/losses.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/core/error.h"
#include "tests/support/checks.h"

namespace ptyche {
namespace {

at::Tensor all_counted(std::int64_t size) { return at::ones({size, size}, at::kBool); }

/// dL/dI of one pixel.
double slope_of(LossKind kind, double intensity, double count, at::ScalarType type = at::kDouble) {
  const at::Tensor x = at::full({1, 1}, intensity, type).requires_grad_();
  summed_loss(kind, x, at::full({1, 1}, count, type), all_counted(1)).backward();
  return x.grad().item<double>();
}

TEST(Loss, HasTheGradientOfCentralDifferencesAwayFromKinks) {
  const at::Tensor counts = random_tensor({2, 3, 6, 6}, at::kDouble, 1).square().mul(4).round();
  ASSERT_GT(counts.eq(0).sum().item<int>(), 0);
  const at::Tensor intensity = counts + 0.3 + random_tensor({2, 3, 6, 6}, at::kDouble, 2).square();
  const at::Tensor mask = random_tensor({6, 6}, at::kDouble, 3).gt(-1);
  for (const LossInfo& loss : losses())
    EXPECT_LT(gradient_mismatch(
                  [&](const at::Tensor& x) { return summed_loss(loss.kind, x, counts, mask); },
                  intensity),
              1e-6)
        << loss.name;
}

// Central differences of a closed form's slope: nothing is expected, nothing was counted.
TEST(Loss, HasAFiniteGradientAtZeroCountsAndZeroIntensity) {
  for (const auto type : {at::kFloat, at::kDouble})
    for (const LossInfo& loss : losses())
      for (const double intensity : {0.0, 1e-12, 1e-3, 1e9})
        for (const double count : {0.0, 1.0, 1e9})
          EXPECT_TRUE(std::isfinite(slope_of(loss.kind, intensity, count, type)))
              << loss.name << " at " << intensity << ", " << count;
}

TEST(PoissonLoss, HasTheSlopeOfTheExcessOverTheExpectation) {
  EXPECT_NEAR(slope_of(LossKind::poisson, 3, 5), (3 - 5) / (3 + PoissonMisfit::kFloor), 1e-12);
  EXPECT_NEAR(slope_of(LossKind::poisson, 0, 0), 0, 1e-12);
}

TEST(AmplitudeLoss, HasTheSlopeOfItsClosedForm) {
  const double floor = SquaredAmplitudeMisfit::kFloor;
  EXPECT_NEAR(slope_of(LossKind::amplitude_square, 3, 5), 1 - std::sqrt((5 + floor) / (3 + floor)),
              1e-12);
  EXPECT_NEAR(slope_of(LossKind::amplitude_square, 0, 5), 1 - std::sqrt((5 + floor) / floor),
              1e-12);
  EXPECT_NEAR(slope_of(LossKind::amplitude_square, 0, 0), 0, 1e-12);
  EXPECT_NEAR(slope_of(LossKind::amplitude_absolute, 3, 5), -0.5 / std::sqrt(3 + floor), 1e-12);
  EXPECT_NEAR(slope_of(LossKind::amplitude_absolute, 5, 3), 0.5 / std::sqrt(5 + floor), 1e-12);
}

TEST(AmplitudeLoss, HasNoSlopeAtTheKinkOfTheAbsoluteValue) {
  for (const double count : {0.0, 4.0, 1e6})
    EXPECT_EQ(slope_of(LossKind::amplitude_absolute, count, count), 0);
}

TEST(AmplitudeLoss, IsTheDifferenceOfTheRootsOfTheCounts) {
  const at::Tensor nine = at::full({1, 1}, 9.0, at::kDouble),
                   four = at::full({1, 1}, 4.0, at::kDouble);
  for (const LossKind kind : {LossKind::amplitude_square, LossKind::amplitude_absolute}) {
    EXPECT_EQ(summed_loss(kind, nine, four, all_counted(1), 1e-30).item<double>(), 1);
    EXPECT_NEAR(summed_loss(kind, nine, four, all_counted(1)).item<double>(), 1, 1e-2);
  }
}

TEST(Loss, IsNothingAtAPerfectFitAndMoreElsewhere) {
  const at::Tensor counts = at::arange(16, at::kDouble).view({1, 4, 4});
  for (const LossInfo& loss : losses()) {
    const auto value = [&](double factor) {
      return summed_loss(loss.kind, counts * factor, counts, all_counted(4)).item<double>();
    };
    EXPECT_EQ(value(1), 0) << loss.name;
    EXPECT_GT(value(1.1), 0) << loss.name;
    EXPECT_GT(value(0.9), 0) << loss.name;
  }
}

TEST(Loss, DoesNotSeeMaskedPixelsNorTheirGradientWhateverStandsThere) {
  const at::Tensor clean = at::full({2, 4, 4}, 2.0, at::kDouble), three = clean + 1;
  const at::Tensor mask = random_tensor({4, 4}, at::kDouble, 3).gt(0);
  for (const LossInfo& loss : losses())
    for (const double there : {1e6, static_cast<double>(NAN)}) {
      const at::Tensor dirty = at::where(mask, clean, there).requires_grad_();
      const at::Tensor value = summed_loss(loss.kind, dirty, at::where(mask, three, there), mask);
      EXPECT_EQ(value.item<double>(), summed_loss(loss.kind, clean, three, mask).item<double>())
          << loss.name;
      value.backward();
      EXPECT_EQ(dirty.grad().masked_select(mask.logical_not()).abs().max().item<double>(), 0)
          << loss.name;
      EXPECT_EQ(units_of(loss.kind, at::where(mask, three, there), mask),
                units_of(loss.kind, three, mask));
    }
}

TEST(Loss, SumsWhatItsPixelsHave) {
  const at::Tensor counts = random_tensor({5, 4, 4}, at::kDouble, 1).square();
  const at::Tensor intensity = random_tensor({5, 4, 4}, at::kDouble, 2).square();
  const at::Tensor mask = random_tensor({4, 4}, at::kDouble, 3).gt(0);
  for (const LossInfo& loss : losses()) {
    const double sum = summed_loss(loss.kind, intensity, counts, mask).item<double>();
    const at::Tensor pixels = pixel_losses(loss.kind, intensity, counts, mask);
    EXPECT_NEAR(pixels.masked_select(mask).sum().item<double>(), sum, 1e-12) << loss.name;
    const at::Tensor every = mask.expand({5, 4, 4}), nothing = at::zeros({4, 4}, at::kBool);
    EXPECT_EQ(summed_loss(loss.kind, intensity, counts, every).item<double>(), sum) << loss.name;
    EXPECT_EQ(summed_loss(loss.kind, intensity, counts, nothing).item<double>(), 0) << loss.name;
  }
}

TEST(Loss, HasANameByWhichItIsFound) {
  for (const LossInfo& loss : losses()) {
    EXPECT_EQ(loss_kind_from(loss.name), loss.kind);
    EXPECT_EQ(info_of(loss.kind).name, loss.name);
  }
  EXPECT_THROW(loss_kind_from("gaussian"), InvalidInput);
}

TEST(Loss, InPlainNumbersIsThatOfTensorsWithItsSlope) {
  const double intensity = 3.7, count = 5;
  for (const LossInfo& loss : losses()) {
    double slope = 0;
    const double value = with_formula(loss.kind, [&](auto formula) {
      return formula.template value<NumberMath<double>>(intensity, count, loss.floor, &slope);
    });
    const at::Tensor x = at::full({1, 1}, intensity, at::kDouble);
    EXPECT_NEAR(value,
                summed_loss(loss.kind, x, at::full({1, 1}, count, at::kDouble), all_counted(1))
                    .item<double>(),
                1e-14);
    EXPECT_NEAR(slope, slope_of(loss.kind, intensity, count), 1e-14);
  }
}

TEST(Loss, RefusesShapesThatDifferAndNamesBoth) {
  const at::Tensor intensity = at::zeros({5, 4, 4}), mask = all_counted(4);
  for (const LossInfo& loss : losses()) {
    const auto refuses = [&](const at::Tensor& counts, const at::Tensor& under, const char* says,
                             const char* and_says) {
      try {
        summed_loss(loss.kind, intensity, counts, under);
        ADD_FAILURE();
      } catch (const InvalidInput& error) {
        EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find(and_says), std::string::npos) << error.what();
      }
    };
    refuses(at::zeros({1, 4, 4}), mask, "5 x 4 x 4", "1 x 4 x 4");
    refuses(intensity, all_counted(3), "(5, 4, 4)", "(3, 3)");
    refuses(intensity, at::ones({5, 1, 1}, at::kBool), "(5, 4, 4)", "(5, 1, 1)");
    EXPECT_THROW(summed_loss(loss.kind, intensity, intensity, mask, 0.0), InvalidInput);
    EXPECT_THROW(summed_loss(loss.kind, intensity, intensity, mask, -1.0), InvalidInput);
  }
}

}  // namespace
}  // namespace ptyche
