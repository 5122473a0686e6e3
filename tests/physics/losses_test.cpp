// Poisson and amplitude losses: gradients, also where nothing was counted or expected, and masks.
#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/physics/amplitude_loss.h"
#include "ptyche/physics/poisson_loss.h"
#include "tests/support/checks.h"

namespace ptyche {
namespace {

using Loss = std::function<at::Tensor(const at::Tensor& intensity, const at::Tensor& counts,
                                      const at::Tensor& mask, Reduction reduction)>;

struct NamedLoss {
  const char* name;
  Loss loss;
};

Loss amplitude(AmplitudeNorm norm) {
  return [norm](const auto& intensity, const auto& counts, const auto& mask, Reduction reduction) {
    return amplitude_loss(intensity, counts, mask, {.norm = norm, .reduction = reduction});
  };
}

const NamedLoss kLosses[] = {
    {"poisson",
     [](const auto& intensity, const auto& counts, const auto& mask, Reduction reduction) {
       return poisson_loss(intensity, counts, mask, {.reduction = reduction});
     }},
    {"amplitude, square", amplitude(AmplitudeNorm::square)},
    {"amplitude, absolute", amplitude(AmplitudeNorm::absolute)}};

at::Tensor all_counted(std::int64_t size) { return at::ones({size, size}, at::kBool); }

/// dL/dI of one pixel.
double slope_of(const Loss& loss, double intensity, double count,
                at::ScalarType type = at::kDouble) {
  const at::Tensor x = at::full({1, 1}, intensity, type).requires_grad_();
  loss(x, at::full({1, 1}, count, type), all_counted(1), Reduction::sum).backward();
  return x.grad().item<double>();
}

TEST(Loss, HasTheGradientOfCentralDifferencesAwayFromKinks) {
  const at::Tensor counts = random_tensor({2, 3, 6, 6}, at::kDouble, 1).square().mul(4).round();
  ASSERT_GT(counts.eq(0).sum().item<int>(), 0);
  const at::Tensor intensity = counts + 0.3 + random_tensor({2, 3, 6, 6}, at::kDouble, 2).square();
  const at::Tensor mask = random_tensor({6, 6}, at::kDouble, 3).gt(-1);
  for (const auto& [name, loss] : kLosses)
    for (const Reduction reduction : {Reduction::sum, Reduction::mean})
      EXPECT_LT(
          gradient_mismatch([&](const at::Tensor& x) { return loss(x, counts, mask, reduction); },
                            intensity),
          1e-6)
          << name;
}

// Central differences of a closed form's slope: nothing is expected, nothing was counted.
TEST(Loss, HasAFiniteGradientAtZeroCountsAndZeroIntensity) {
  for (const auto type : {at::kFloat, at::kDouble})
    for (const auto& [name, loss] : kLosses)
      for (const double intensity : {0.0, 1e-12, 1e-3, 1e9})
        for (const double count : {0.0, 1.0, 1e9})
          EXPECT_TRUE(std::isfinite(slope_of(loss, intensity, count, type)))
              << name << " at " << intensity << ", " << count;
}

TEST(PoissonLoss, HasTheSlopeOfTheExcessOverTheExpectation) {
  EXPECT_NEAR(slope_of(kLosses[0].loss, 3, 5), (3 - 5) / (3 + kPoissonFloor), 1e-12);
  EXPECT_NEAR(slope_of(kLosses[0].loss, 0, 0), 0, 1e-12);
}

TEST(AmplitudeLoss, HasTheSlopeOfItsClosedForm) {
  const double floor = kAmplitudeFloor;
  EXPECT_NEAR(slope_of(kLosses[1].loss, 3, 5), 1 - std::sqrt((5 + floor) / (3 + floor)), 1e-12);
  EXPECT_NEAR(slope_of(kLosses[1].loss, 0, 5), 1 - std::sqrt((5 + floor) / floor), 1e-12);
  EXPECT_NEAR(slope_of(kLosses[1].loss, 0, 0), 0, 1e-12);
  EXPECT_NEAR(slope_of(kLosses[2].loss, 3, 5), -0.5 / std::sqrt(3 + floor), 1e-12);
  EXPECT_NEAR(slope_of(kLosses[2].loss, 5, 3), 0.5 / std::sqrt(5 + floor), 1e-12);
}

TEST(AmplitudeLoss, HasNoSlopeAtTheKinkOfTheAbsoluteValue) {
  for (const double count : {0.0, 4.0, 1e6}) EXPECT_EQ(slope_of(kLosses[2].loss, count, count), 0);
}

TEST(AmplitudeLoss, IsTheDifferenceOfTheRootsOfTheCounts) {
  const at::Tensor nine = at::full({1, 1}, 9.0, at::kDouble),
                   four = at::full({1, 1}, 4.0, at::kDouble);
  const auto value = [&](AmplitudeNorm norm) {
    return amplitude_loss(nine, four, all_counted(1), {.norm = norm, .floor = 0}).item<double>();
  };
  EXPECT_EQ(value(AmplitudeNorm::square), 1);
  EXPECT_EQ(value(AmplitudeNorm::absolute), 1);
  EXPECT_NEAR(amplitude_loss(nine, four, all_counted(1)).item<double>(), 1, 1e-2);
}

TEST(Loss, IsNothingAtAPerfectFitAndMoreElsewhere) {
  const at::Tensor counts = at::arange(16, at::kDouble).view({1, 4, 4});
  for (const auto& [name, loss] : kLosses) {
    EXPECT_EQ(loss(counts, counts, all_counted(4), Reduction::sum).item<double>(), 0) << name;
    EXPECT_GT(loss(counts * 1.1, counts, all_counted(4), Reduction::sum).item<double>(), 0) << name;
    EXPECT_GT(loss(counts * 0.9, counts, all_counted(4), Reduction::sum).item<double>(), 0) << name;
  }
}

TEST(Loss, DoesNotSeeMaskedPixelsNorTheirGradient) {
  const at::Tensor counts = at::full({2, 4, 4}, 3.0, at::kDouble);
  const at::Tensor mask = random_tensor({4, 4}, at::kDouble, 3).gt(0);
  for (const auto& [name, loss] : kLosses)
    for (const Reduction reduction : {Reduction::sum, Reduction::mean}) {
      const at::Tensor clean = at::full({2, 4, 4}, 2.0, at::kDouble);
      const at::Tensor dirty = at::where(mask, clean, 1e6).requires_grad_();
      const at::Tensor value = loss(dirty, counts, mask, reduction);
      EXPECT_EQ(value.item<double>(), loss(clean, counts, mask, reduction).item<double>()) << name;
      value.backward();
      EXPECT_EQ((dirty.grad() * mask.logical_not()).abs().max().item<double>(), 0) << name;
    }
}

TEST(Loss, InTheMeanIsTheSumOverTheNumberOfCountedPixels) {
  const at::Tensor counts = random_tensor({5, 4, 4}, at::kDouble, 1).square();
  const at::Tensor intensity = random_tensor({5, 4, 4}, at::kDouble, 2).square();
  const at::Tensor mask = random_tensor({4, 4}, at::kDouble, 3).gt(0);
  const double counted = 5 * mask.sum().item<double>();
  for (const auto& [name, loss] : kLosses) {
    const auto value = [&](Reduction reduction, const at::Tensor& under) {
      return loss(intensity, counts, under, reduction);
    };
    const double sum = value(Reduction::sum, mask).item<double>();
    EXPECT_NEAR(value(Reduction::mean, mask).item<double>(), sum / counted, 1e-12) << name;
    EXPECT_NEAR(value(Reduction::none, mask).sum().item<double>(), sum, 1e-12) << name;
    const at::Tensor every = mask.expand({5, 4, 4});
    EXPECT_NEAR(value(Reduction::mean, every).item<double>(), sum / counted, 1e-12) << name;
    const at::Tensor nothing = at::zeros({4, 4}, at::kBool);
    EXPECT_EQ(value(Reduction::mean, nothing).item<double>(), 0) << name;
  }
}

TEST(Loss, RefusesShapesThatDifferAndNamesBoth) {
  const at::Tensor intensity = at::zeros({5, 4, 4}), mask = all_counted(4);
  for (const auto& [name, loss] : kLosses) {
    const auto refuses = [&, &loss = loss](const at::Tensor& counts, const at::Tensor& under,
                                           const char* says, const char* and_says) {
      try {
        loss(intensity, counts, under, Reduction::sum);
        ADD_FAILURE();
      } catch (const InvalidInput& error) {
        EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find(and_says), std::string::npos) << error.what();
      }
    };
    refuses(at::zeros({1, 4, 4}), mask, "5 x 4 x 4", "1 x 4 x 4");
    refuses(intensity, all_counted(3), "(5, 4, 4)", "(3, 3)");
    refuses(intensity, at::ones({5, 1, 1}, at::kBool), "(5, 4, 4)", "(5, 1, 1)");
  }
  EXPECT_THROW(poisson_loss(intensity, intensity, mask, {.floor = 0}), InvalidInput);
  EXPECT_THROW(amplitude_loss(intensity, intensity, mask, {.floor = -1}), InvalidInput);
}

}  // namespace
}  // namespace ptyche
