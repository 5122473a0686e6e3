// Two images beside each other: what differs is the sample's and not the gauge's.
#include "ptyche/live/side_by_side.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "ptyche/core/error.h"
#include "ptyche/data/array.h"
#include "ptyche/live/image_pyramid.h"

namespace ptyche {
namespace {

constexpr std::int64_t kSide = 120;

at::Tensor plane_of(double constant, double slope_row, double slope_col) {
  const at::Tensor line = at::arange(kSide, at::kDouble);
  return constant + (line * slope_row).unsqueeze(1) + (line * slope_col).unsqueeze(0);
}

/// Smooth structure in amplitude and phase.
Reconstruction sample(std::int64_t seed) {
  at::manual_seed(static_cast<std::uint64_t>(seed));
  Reconstruction image;
  const at::Tensor smooth = gaussian_filter(at::randn({2, kSide, kSide}, at::kDouble)[0], 2) * 4;
  image.object = at::polar(1 + 0.2 * smooth, smooth).to(at::kComplexFloat).unsqueeze(0);
  image.coverage = at::ones({kSide, kSide});
  return image;
}

at::Tensor turned(const at::Tensor& object, const at::Tensor& angles) {
  return (object * at::polar(at::ones_like(angles), angles)).to(at::kComplexFloat);
}

double farthest(const at::Tensor& a, const at::Tensor& b, std::int64_t border) {
  const Window inner{border, kSide - border, border, kSide - border};
  return (cut(a, inner) - cut(b, inner)).abs().max().item<double>();
}

TEST(SideBySide, UndoesShiftRampPhaseAndScaleAndLeavesTheRest) {
  const Reconstruction reference = sample(1);
  Reconstruction image = reference;
  image.object =
      1.3 * turned(at::roll(reference.object, {4, -3}, {1, 2}), plane_of(1, 0.02, -0.01));
  image.object.narrow(1, 60, 4).narrow(2, 60, 4).mul_(2);
  const Reconstruction brought = brought_onto(reference, image);
  EXPECT_EQ(brought.object.sizes(), reference.object.sizes());
  const at::Tensor ratio = (brought.projection() / reference.projection()).abs();
  const double here = ratio[58][65].item<double>(), there = ratio[30][30].item<double>();
  EXPECT_NEAR(here / there, 2, 0.02) << "what was changed, at its place in the reference";
  at::Tensor rest = brought.projection().clone();
  cut(rest, {54, 64, 61, 71}).copy_(cut(reference.projection(), {54, 64, 61, 71}));
  EXPECT_LT(farthest(rest, reference.projection(), 8), 0.05);
}

TEST(SideBySide, IsDarkWhereTheImageDoesNotReach) {
  const Reconstruction reference = sample(2);
  Reconstruction image = reference;
  image.object = reference.object.narrow(1, 0, 100).contiguous();
  image.coverage = reference.coverage.narrow(0, 0, 100).contiguous();
  const Reconstruction brought = brought_onto(reference, image);
  EXPECT_EQ(brought.coverage.narrow(0, 100, 20).max().item<float>(), 0);
  EXPECT_EQ(brought.coverage.narrow(0, 0, 100).min().item<float>(), 1);
  EXPECT_TRUE(
      at::equal(brought.object.narrow(1, 100, 20), at::ones({1, 20, kSide}, at::kComplexFloat)));
}

TEST(SideBySide, RefusesImagesThatCannotBeOfOneSample) {
  Reconstruction reference = sample(3), other = sample(3);
  reference.geometry.object_pixel_m = 1e-8;
  other.geometry.object_pixel_m = 2e-8;
  EXPECT_THROW(brought_onto(reference, other), InvalidInput);
  other.geometry.object_pixel_m = 1e-8;
  other.object[0][5][5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(brought_onto(reference, other), InvalidInput);
  other = sample(3);
  other.object = other.object.narrow(1, 0, 10);
  other.coverage = other.coverage.narrow(0, 0, 10);
  EXPECT_THROW(brought_onto(reference, other), InvalidInput) << "hardly anything in common";
}

TEST(SideBySide, FindsThePlaneBetweenTwoImagesOfOneFrame) {
  const Reconstruction reference = sample(4);
  Reconstruction image = reference;
  image.object = turned(reference.object, plane_of(2, 0.03, -0.02)).narrow(1, 10, 100).contiguous();
  image.coverage = reference.coverage.narrow(0, 10, 100);
  image.origin_row = reference.origin_row + 10;
  const PhasePlane plane = plane_between(reference, image);
  EXPECT_NEAR(plane.slope_row, 0.03, 1e-4);
  EXPECT_NEAR(plane.slope_col, -0.02, 1e-4);
  EXPECT_NEAR(std::remainder(plane.constant - (2 + 10 * 0.03), 2 * M_PI), 0, 1e-3);
  image.origin_row += 1000;
  EXPECT_EQ(plane_between(reference, image).slope_row, 0) << "nothing in common";
}

at::Tensor values(const SharedTile& tile) {
  at::Tensor floats = at::empty({tile->rows, tile->cols});
  std::memcpy(floats.data_ptr(), tile->bytes.data(), tile->bytes.size());
  return floats;
}

TEST(ImagePyramid, TurnsThePhaseOfAnImageToThatOfTheOneBesideIt) {
  LiveImage first{.image = sample(5)}, second = first;
  second.image.object = turned(first.image.object, plane_of(2, 0.03, -0.02));
  const auto a = std::make_shared<const LiveImage>(first),
             b = std::make_shared<const LiveImage>(second);
  ImagePyramids pyramids;
  for (const bool without_ramp : {false, true}) {
    const at::Tensor left = values(pyramids.tile(a, {.without_ramp = without_ramp})),
                     right = values(pyramids.tile(b, {.without_ramp = without_ramp, .beside = a}));
    EXPECT_LT((left - right).sin().abs().max().item<double>(), 5e-3) << without_ramp;
  }
}

TEST(ImagePyramid, MakesATileOnceForAllViewers) {
  const auto image = std::make_shared<const LiveImage>(LiveImage{.image = sample(6)});
  ImagePyramids pyramids;
  const SharedTile once = pyramids.tile(image, {}), again = pyramids.tile(image, {});
  EXPECT_EQ(once, again);
  EXPECT_NE(once, pyramids.tile(image, {.what = TileRequest::What::amplitude}));
  EXPECT_EQ(pyramids.tile(image, {.row = 1}), nullptr);
  EXPECT_EQ(pyramids.tile(image, {.level = 20}), nullptr);
}

}  // namespace
}  // namespace ptyche
