#include "ptyche/data/probe.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

/// NumPy: sum |P|^2 = 24.25; fftshift(|fft2(P, norm="ortho")|^2)[2, 2] = 10.015625.
at::Tensor small_probe() {
  const at::Tensor real =
      at::tensor({1.0, 2.0, 0.0, 1.0, 0.0, 0.0, 3.0, 0.0, 1.0, 0.0, 0.0, 2.0, 0.5, 0.0, 1.0, 1.0});
  at::Tensor imaginary = at::zeros({16}, at::kDouble);
  imaginary[0] = 1.0;
  imaginary[5] = 1.0;
  return at::complex(real.to(at::kDouble), imaginary).reshape({1, 4, 4}).to(at::kComplexFloat);
}

double power(const at::Tensor& probe) {
  return at::abs(probe).square().sum(at::kDouble).item<double>();
}

TEST(ProbeForSize, ALargerDetectorAndBackIsTheSameProbeWithTheSameLight) {
  const at::Tensor probe = at::randn({2, 16, 16}, at::kComplexFloat);
  const at::Tensor larger = probe_for_size(probe, 24);
  EXPECT_EQ(larger.sizes(), (std::vector<std::int64_t>{2, 24, 24}));
  EXPECT_NEAR(probe_power(larger) / probe_power(probe), 1, 1e-5);
  EXPECT_TRUE(at::allclose(probe_for_size(larger, 16), probe, 1e-4, 1e-5));
}

TEST(LikenessToTwin, IsOneInFocusWhateverTheApertureAndSmallInCurvedLight) {
  const at::Tensor row = at::arange(-16, 16, at::kDouble).view({32, 1});
  const at::Tensor col = at::arange(-16, 16, at::kDouble).view({1, 32});
  const at::Tensor aperture = at::logical_and(row.square() + col.square() < 100, row > col - 4);
  const at::Tensor bend = 0.08 * (row.square() + col.square());
  const auto probe_of = [&](const at::Tensor& phase) {
    const at::Tensor far = at::polar(aperture.to(at::kDouble), phase);
    return at::fft_fftshift(at::fft_ifft2(at::fft_ifftshift(far))).unsqueeze(0);
  };
  EXPECT_NEAR(likeness_to_twin(probe_of(at::zeros_like(bend))), 1, 1e-9);
  EXPECT_NEAR(likeness_to_twin(probe_of(0.3 * row + 0.2 * col)), 1, 0.02) << "not in the middle";
  EXPECT_LT(likeness_to_twin(probe_of(bend)), 0.5);
}

TEST(CalibrateProbe, MatchesTheMeanCountsInTheCountedPixels) {
  at::Tensor mask = at::ones({4, 4}, at::kBool);
  mask[2][2] = false;
  at::Tensor counts = at::full({3, 4, 4}, 10, at::kShort);
  counts.select(0, 1).fill_(30);
  counts.select(0, 2).fill_(999);  // not among the used frames
  const at::Tensor probe =
      calibrate_probe(small_probe(), counts, mask, at::tensor({0, 1}, at::kLong), 0);
  // 15 counted pixels with 20 counts in the mean, against 24.25 - 10.015625 of the probe's power.
  EXPECT_NEAR(power(probe), 24.25 * (15 * 20.0) / 14.234375, 1e-3);
}

TEST(CalibrateProbe, GivesTheWholeProbeTheNamedPhotons) {
  at::Tensor mask = at::ones({4, 4}, at::kBool);
  mask[2][2] = false;
  const at::Tensor counts = at::ones({2, 4, 4}, at::kByte);
  const at::Tensor probe =
      calibrate_probe(small_probe().repeat({3, 1, 1}), counts, mask, at::arange(2), 1e5);
  EXPECT_NEAR(power(probe) / 1e5, 1, 1e-6);
}

TEST(CalibrateProbe, RefusesPatternsWithoutCounts) {
  const at::Tensor mask = at::ones({4, 4}, at::kBool);
  EXPECT_THROW(
      calibrate_probe(small_probe(), at::zeros({2, 4, 4}, at::kByte), mask, at::arange(2), 0),
      InvalidInput);
}

TEST(MeanPattern, AveragesTheNamedFramesBeyondOneBatch) {
  const at::Tensor counts =
      at::arange(200, at::kShort).reshape({200, 1, 1}).expand({200, 2, 2}).contiguous();
  const at::Tensor mean = mean_pattern(counts, at::arange(100, 200, at::kLong));
  EXPECT_TRUE(at::equal(mean, at::full({2, 2}, 149.5, at::kDouble)));
}

TEST(MeanPattern, OfRootsIsThatOfRootsInDoublePrecisionForEveryTypeOfCounts) {
  const at::Tensor counts = at::arange(1200, at::kInt).remainder(200).view({75, 4, 4});
  const at::Tensor frames = at::arange(3, 70, at::kLong);
  const at::Tensor expected =
      counts.to(at::kDouble).sqrt().index_select(0, frames).mean(at::IntArrayRef{0});
  for (const at::ScalarType type : {at::kByte, at::kShort, at::kInt, at::kFloat, at::kDouble})
    EXPECT_TRUE(at::allclose(mean_pattern(counts.to(type), frames, 0.5), expected, 1e-14)) << type;
}

at::Tensor line_of(std::int64_t count, double step) {
  at::Tensor positions = at::zeros({count, 2}, at::kDouble);
  positions.select(1, 1).copy_(step * at::arange(count, at::kDouble));
  return positions;
}

TEST(MedianStep, IsTheDistanceOfNeighboursHoweverManyThereAre) {
  for (const std::int64_t count : {2, 7, 2000, 5001})
    EXPECT_DOUBLE_EQ(median_step_px(line_of(count, 3)), 3) << count;
  EXPECT_EQ(median_step_px(line_of(1, 3)), 0);
}

TEST(MedianStep, OfScatteredPointsIsThatOfAllDistances) {
  for (const std::int64_t count : {2, 3, 50, 700}) {
    at::manual_seed(count);
    at::Tensor places = 40 * at::rand({count, 2}, at::kDouble);
    if (count == 50) places[7].copy_(places[30]);  // two at one place
    at::Tensor distance = (places.unsqueeze(0) - places.unsqueeze(1)).square().sum(2).sqrt();
    distance.masked_fill_(distance.eq(0), 1e9);  // its own place is no step
    EXPECT_DOUBLE_EQ(median_step_px(places), distance.amin(1).median().item<double>()) << count;
  }
}

TEST(ProbeDiameter, HoldsNineTenthsOfADisc) {
  const at::Tensor axis = at::arange(64, at::kDouble) - 32;
  const at::Tensor radius = (axis.square().unsqueeze(1) + axis.square()).sqrt();
  const at::Tensor disc = radius.lt(20).to(at::kComplexFloat).unsqueeze(0);
  EXPECT_NEAR(probe_diameter_px(disc), 40 * std::sqrt(0.9), 1);
}

}  // namespace
}  // namespace ptyche
