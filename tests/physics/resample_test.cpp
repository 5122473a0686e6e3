// Translation: adjoints, gradients, exactness, borders, and what they refuse.
#include "ptyche/physics/resample.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/core/error.h"
#include "tests/support/checks.h"
#include "tests/support/refusal.h"
#include "tests/support/sampling_cases.h"

namespace ptyche {
namespace {

TEST(Translate, MovesContentByPlusTheShift) {
  at::Tensor image = at::zeros({1, 6, 7}, at::kDouble);
  image[0][2][3] = 1;
  const at::Tensor moved = translate(image, pairs({1, -2}));
  EXPECT_EQ(moved[0][3][1].item<double>(), 1);
  EXPECT_EQ(moved.sum().item<double>(), 1);
}

TEST(Translate, IsExactForWholePixelsInEveryType) {
  for (const auto type : {at::kFloat, at::kDouble, at::kComplexFloat, at::kComplexDouble})
    for (const SamplingOptions options : kAllOptions) {
      const at::Tensor images = random_tensor({2, 6, 7}, type, 1);
      const at::Tensor moved = translate(images, pairs({1, -2, 0, 0}), options);
      EXPECT_EQ(moved.scalar_type(), type);
      EXPECT_TRUE(at::equal(moved[0].narrow(0, 1, 5).narrow(1, 0, 5),
                            images[0].narrow(0, 0, 5).narrow(1, 2, 5)));
      EXPECT_TRUE(at::equal(moved[1], images[1]));
    }
}

TEST(Translate, TakesAnyLeadingBatchAndNoneAtAll) {
  const at::Tensor images = random_tensor({6, 5, 8}, at::kComplexDouble, 1);
  const at::Tensor shifts = random_tensor({6, 2}, at::kDouble, 2);
  const at::Tensor flat = translate(images, shifts);
  EXPECT_TRUE(at::equal(translate(images.view({2, 3, 5, 8}), shifts.view({2, 3, 2})),
                        flat.view({2, 3, 5, 8})));
  EXPECT_TRUE(at::equal(translate(images[4], shifts[4]), flat[4]));
  EXPECT_EQ(translate(images.narrow(0, 0, 0), shifts.narrow(0, 0, 0)).size(0), 0);
}

TEST(Translate, OfAnImageIsTheSameInEveryBatch) {
  const at::Tensor images = random_tensor({130, 5, 8}, at::kComplexFloat, 1);
  const at::Tensor shifts = random_tensor({130, 2}, at::kDouble, 2);
  const at::Tensor all = translate(images, shifts);
  for (const std::int64_t i : {0, 63, 64, 129})
    EXPECT_TRUE(at::equal(all[i], translate(images[i], shifts[i]))) << i;
}

TEST(Translate, InterpolatesAPlaneExactly) {
  const at::Tensor plane =
      2 * at::arange(9, at::kDouble).unsqueeze(1) - 3 * at::arange(8, at::kDouble);
  const at::Tensor moved = translate(plane, at::tensor({0.25, -1.5}, at::kDouble));
  const auto inside = [](const at::Tensor& x) { return x.narrow(0, 1, 7).narrow(1, 0, 5); };
  EXPECT_LT(relative_difference(inside(moved), inside(plane - 2 * 0.25 - 3 * 1.5)), 1e-14);
}

TEST(Translate, LosesTheShareOfMissingNeighboursUnlessTheEdgeGoesOn) {
  const at::Tensor ones = at::ones({1, 4, 4}, at::kDouble), shift = pairs({0.25, 0});
  EXPECT_EQ(translate(ones, shift)[0][0][1].item<double>(), 0.75);
  EXPECT_EQ(translate(ones, shift)[0][3][1].item<double>(), 1);
  EXPECT_TRUE(at::equal(translate(ones, pairs({1e30, -7.3}), {.outside = Outside::edge}), ones));
  EXPECT_EQ(translate(ones, pairs({1e30, 0})).abs().max().item<double>(), 0);
}

TEST(Translate, TakesTheEvenPixelHalfWayAndNothingFromOutside) {
  const at::Tensor row = at::arange(1, 6, at::kDouble).view({1, 1, 5});
  const SamplingOptions nearest{.sampling = Sampling::nearest};
  // Sources -1/2, 1/2, 3/2, 5/2, 7/2: the first is outside before rounding.
  EXPECT_TRUE(at::equal(translate(row, pairs({0, 0.5}), nearest).flatten(),
                        at::tensor({0.0, 1.0, 3.0, 3.0, 5.0}, at::kDouble)));
}

TEST(Translate, HasItsAdjointInBothPrecisions) {
  for (const SamplingOptions options : kAllOptions) {
    const auto forward = [&](const at::Tensor& x) { return translate(x, kShifts, options); };
    const auto adjoint = [&](const at::Tensor& y) {
      return translate_adjoint(y, kShifts, options);
    };
    EXPECT_LT(adjoint_mismatch(forward, adjoint, {3, 9, 8}, {3, 9, 8}), 1e-12);
    EXPECT_LT(adjoint_mismatch(forward, adjoint, {3, 9, 8}, {3, 9, 8}, at::kComplexFloat), 1e-6);
  }
}

TEST(Translate, HasTheGradientOfCentralDifferencesInImageAndShift) {
  const at::Tensor images = random_tensor({3, 9, 8}, at::kComplexDouble, 1);
  const at::Tensor target = random_tensor({3, 9, 8}, at::kComplexDouble, 2);
  for (const SamplingOptions options : kAllOptions) {
    const auto loss = [&](const at::Tensor& x, const at::Tensor& shifts) {
      return (translate(x, shifts, options) - target).abs().square().sum();
    };
    EXPECT_LT(gradient_mismatch([&](auto& x) { return loss(x, kShifts); }, images), 1e-6);
    if (options.sampling == Sampling::nearest) continue;
    EXPECT_LT(gradient_mismatch([&](auto& shifts) { return loss(images, shifts); }, kShifts), 1e-6);
  }
}

// At a whole pixel the slope by the shift is that of shifts just below: the source just above.
TEST(Translate, HasTheSlopeOfSmallerShiftsAtWholePixels) {
  const at::Tensor images = random_tensor({1, 9, 8}, at::kDouble, 1);
  const at::Tensor weight = random_tensor({1, 9, 8}, at::kDouble, 2);
  const auto loss = [&](const at::Tensor& shifts) {
    return (translate(images, shifts) * weight).sum();
  };
  const at::Tensor shift = pairs({2, -1}).requires_grad_();
  loss(shift).backward();
  for (const std::int64_t axis : {0, 1}) {
    at::Tensor step = at::zeros({1, 2}, at::kDouble);
    step[0][axis] = 0.25;
    const auto slope = [&](const at::Tensor& from, const at::Tensor& to) {
      return ((loss(to) - loss(from)) / 0.25).item<double>();
    };
    const at::Tensor at_kink = shift.detach();
    const double given = shift.grad()[0][axis].item<double>();
    EXPECT_NEAR(given, slope(at_kink - step, at_kink), 1e-12);
    EXPECT_GT(std::abs(given - slope(at_kink, at_kink + step)), 0.1);
  }
}

TEST(Translate, PromotesShiftsAndImagesExactly) {
  const at::Tensor images = random_tensor({3, 9, 8}, at::kFloat, 1);
  const at::Tensor moved = translate(images, kShifts);
  EXPECT_EQ(moved.scalar_type(), at::kFloat);
  EXPECT_LT(relative_difference(moved.to(at::kDouble), translate(images.to(at::kDouble), kShifts)),
            1e-7);
  const at::Tensor single = kShifts.to(at::kFloat);
  EXPECT_TRUE(at::equal(translate(images.to(at::kDouble), single),
                        translate(images.to(at::kDouble), single.to(at::kDouble))));
}

TEST(Translate, RefusesShiftsOfAnotherShapeAndNamesBoth) {
  const at::Tensor images = at::zeros({3, 4, 16, 17});
  for (const auto& shape :
       {std::vector<std::int64_t>{3, 2}, {4, 2}, {2}, {3, 4}, {3, 4, 3}, {1, 4, 2}})
    for (const auto& translation : {translate, translate_adjoint}) {
      const at::Tensor shifts = at::zeros(shape, at::kDouble);
      const std::string said = message_of([&] { translation(images, shifts, {}); });
      EXPECT_NE(said.find("(3, 4, 16, 17) float32"), std::string::npos) << said;
      EXPECT_NE(said.find(fmt::format("({}", fmt::join(shape, ", "))), std::string::npos) << said;
    }
}

TEST(Translate, RefusesWhatIsNoImageAndNoNumber) {
  const at::Tensor shift = at::zeros({2}, at::kDouble);
  EXPECT_THROW(translate(at::zeros({4, 4}, at::kInt), shift), InvalidInput);
  EXPECT_THROW(translate(at::zeros({4}, at::kFloat), shift), InvalidInput);
  EXPECT_THROW(translate(at::zeros({4, 0}, at::kFloat), shift), InvalidInput);
  EXPECT_THROW(translate(at::zeros({4, 4}), shift.to(at::kComplexDouble)), InvalidInput);
  EXPECT_THROW(translate(at::zeros({4, 4}), shift / 0), InvalidInput);
}

}  // namespace
}  // namespace ptyche
