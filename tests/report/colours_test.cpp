#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "ptyche/report/figure.h"

namespace ptyche {
namespace {

constexpr double pi = std::numbers::pi;

/// OKLab of sRGB (n, 3), by the forward matrices of Ottosson (2020); the maps use their inverses.
at::Tensor oklab(const at::Tensor& srgb) {
  const at::Tensor value = srgb.to(at::kDouble);
  const at::Tensor linear =
      at::where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055).pow(2.4));
  const at::Tensor to_cones =
      at::tensor({0.4122214708, 0.5363325363, 0.0514459929, 0.2119034982, 0.6806995451,
                  0.1073969566, 0.0883024619, 0.2817188376, 0.6299787005},
                 at::kDouble)
          .view({3, 3});
  const at::Tensor to_lab =
      at::tensor({0.2104542553, 0.7936177850, -0.0040720468, 1.9779984951, -2.4285922050,
                  0.4505937099, 0.0259040371, 0.7827717662, -0.8086757660},
                 at::kDouble)
          .view({3, 3});
  return linear.matmul(to_cones.t()).pow(1.0 / 3).matmul(to_lab.t());
}

at::Tensor step_lengths(const at::Tensor& lab) {
  return (lab.slice(0, 1) - lab.slice(0, 0, -1)).square().sum(1).sqrt();
}

TEST(SequentialMap, EqualStepsLookEqualAndGetLighter) {
  const at::Tensor values = at::linspace(-3, 7, 33, at::kDouble);
  const at::Tensor lab = oklab(colours(ColourMap::sequential, values, -3, 7));
  const at::Tensor steps = step_lengths(lab);
  EXPECT_LT((steps.max() / steps.min()).item<double>(), 1.02);
  const at::Tensor lightness = lab.select(1, 0);
  EXPECT_TRUE((lightness.slice(0, 1) > lightness.slice(0, 0, -1)).all().item<bool>());
}

TEST(CyclicMap, EndsWhereItBeginsAndGoesOnAroundTheLoop) {
  const at::Tensor values = at::linspace(-pi, pi, 65, at::kDouble);
  const at::Tensor rgb = colours(ColourMap::cyclic, values, -pi, pi);
  EXPECT_TRUE(at::allclose(rgb[0], rgb[64], 0, 1e-3));
  const at::Tensor next_turn = colours(ColourMap::cyclic, values + 2 * pi, -pi, pi);
  EXPECT_TRUE(at::allclose(rgb.slice(0, 1, 64), next_turn.slice(0, 1, 64), 0, 1e-3));
  const at::Tensor steps = step_lengths(oklab(rgb));
  EXPECT_LT((steps.max() / steps.min()).item<double>(), 1.6);
  EXPECT_GT(steps.min().item<double>(), 0.005);  // no two neighbours look the same
}

TEST(GreyMap, RunsFromBlackToWhiteAndStaysThere) {
  const at::Tensor rgb =
      colours(ColourMap::grey, at::tensor({-9.0, 0.0, 2.0, 9.0}, at::kDouble), 0, 2);
  const at::Tensor expected = at::tensor({0.0, 0.0, 1.0, 1.0}).unsqueeze(1).expand({4, 3});
  EXPECT_TRUE(at::allclose(rgb, expected.to(at::kFloat), 0, 1e-3));
}

TEST(Colours, AValueThatIsNotFiniteIsLightGreyInEveryMap) {
  const double infinite = std::numeric_limits<double>::infinity();
  const at::Tensor values = at::tensor({std::nan(""), infinite, -infinite}, at::kDouble);
  const at::Tensor grey = at::full({3, 3}, kNoValueGrey, at::kFloat);
  for (const ColourMap map : {ColourMap::sequential, ColourMap::cyclic, ColourMap::grey})
    EXPECT_TRUE(at::equal(colours(map, values, 0, 1), grey));
}

TEST(DomainColours, AmplitudeIsBrightnessAndPhaseIsHue) {
  const at::Tensor phase = at::arange(8, at::kDouble) * (pi / 4) - 3;
  const at::Tensor full =
      oklab(domain_colours(at::polar(at::full({8}, 5.0, at::kDouble), phase), 5));
  const at::Tensor half =
      oklab(domain_colours(at::polar(at::full({8}, 2.5, at::kDouble), phase), 5));
  const at::Tensor hue = at::atan2(full.select(1, 2), full.select(1, 1));
  EXPECT_TRUE(at::allclose(at::cos(hue - phase), at::ones({8}, at::kDouble), 0, 1e-3));
  EXPECT_TRUE(at::allclose(half, full / 2, 0, 2e-3));
  EXPECT_EQ(domain_colours(at::zeros({1}, at::kComplexDouble), 5).abs().max().item<float>(), 0);
}

TEST(RobustRange, IsTheFirstToTheNinetyNinthPercentileOfTheMaskedValues) {
  at::Tensor values = at::arange(1010, at::kDouble).view({10, 101});
  values[9].fill_(1e9);
  at::Tensor mask = at::ones({10, 101}, at::kBool);
  mask.slice(0, 1).fill_(false);
  const ValueRange range = robust_range(values, mask);
  EXPECT_DOUBLE_EQ(range.low, 1);
  EXPECT_DOUBLE_EQ(range.high, 99);
}

TEST(RobustRange, IsFiniteAndNotEmptyForAnyInput) {
  const double nan = std::nan("");
  for (const double value : {0.0, 1.0, -2.5, 1e-30, 1e30, nan}) {
    const ValueRange range =
        robust_range(at::full({4, 4}, value, at::kDouble), at::ones({4, 4}, at::kBool));
    EXPECT_TRUE(std::isfinite(range.low) && std::isfinite(range.high)) << value;
    EXPECT_LT(range.low, range.high) << value;
    if (std::isfinite(value)) {
      EXPECT_LE(range.low, value);
      EXPECT_GE(range.high, value);
    }
  }
}

TEST(BrightLevel, IsNotSetByOneHotPixelAndNeverZero) {
  at::Tensor values = at::full({100, 100}, 2.0, at::kComplexFloat);
  values[3][4] = 1000;
  EXPECT_NEAR(bright_level(values), 2, 1e-6);
  EXPECT_GT(bright_level(at::zeros({4, 4}, at::kComplexFloat)), 0);
}

}  // namespace
}  // namespace ptyche
