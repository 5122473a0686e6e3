// How alike patterns are, and which way shadows move.
#include "ptyche/prepare/likeness.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/prepare/patterns.h"
#include "tests/prepare/faulty_scans.h"

namespace ptyche {
namespace {

/// Blobs that move by `gain` times the positions under an even envelope that does not move.
struct MovingBlobs {
  at::Tensor counts, positions;
};

MovingBlobs moving_blobs(double gain) {
  const at::Tensor axis = at::arange(64, at::kFloat) - 32;
  const at::Tensor envelope = (-(axis.square().unsqueeze(1) + axis.square()) / 400).exp();
  at::Tensor counts = at::empty({49, 64, 64}), positions = at::empty({49, 2}, at::kDouble);
  for (std::int64_t k = 0; k < 49; ++k) {
    const double row = 3.0 * static_cast<double>(k / 7), col = 3.0 * static_cast<double>(k % 7);
    positions[k][0] = row;
    positions[k][1] = col;
    const at::Tensor down = axis - gain * row, right = axis - gain * col;
    const at::Tensor blobs = 1 + 0.5 * (0.9 * down).cos().unsqueeze(1) * (0.7 * right + 0.3).sin() +
                             0.3 * (0.23 * down).cos().unsqueeze(1) * (0.31 * right).cos();
    counts[k] = 1e3 * envelope * blobs.square();
  }
  return {counts, positions};
}

TEST(Likeness, ShadowsHaveTheGainAndTheSignOfWhatMoves) {
  for (const double gain : {1.2, -0.8}) {
    const auto [counts, positions] = moving_blobs(gain);
    const auto found = shadows(likeness_of(counts, at::ones({64, 64}, at::kBool)), positions);
    EXPECT_EQ(found[0].orientation, Orientation::as_given) << gain;
    EXPECT_NEAR(found[0].gain, gain, 0.15);
  }
}

TEST(Likeness, AnEvenPatternThatStaysCastsNoShadow) {
  const auto [counts, positions] = moving_blobs(0);
  const auto found = shadows(likeness_of(counts, at::ones({64, 64}, at::kBool)), positions);
  EXPECT_LT(found[0].mean, 1e-3);
}

TEST(Likeness, CorrelationOfAPatternWithItselfIsOneAtNoShift) {
  const Patterns patterns = patterns_of(good_scan());
  const at::Tensor all =
      correlations(likeness_of(patterns.counts, patterns.mask), {{3, 3}, {8, 8}});
  EXPECT_TRUE(at::allclose(all.select(1, 0).select(1, 0), at::ones({2}), 1e-3, 1e-3));
  EXPECT_LE(all.max().item<double>(), 1.001);
}

TEST(Likeness, ValuesBetweenPixelsGoOnAroundTheEdge) {
  const at::Tensor ramp = at::arange(8, at::kFloat).expand({1, 8, 8});
  EXPECT_NEAR(values_at(ramp, {2.0, 3.25})[0], 3.25, 1e-6);
  EXPECT_NEAR(values_at(ramp, {-5.0, -1.0})[0], 7, 1e-6);
  EXPECT_NEAR(values_at(ramp, {0.0, 7.5})[0], 3.5, 1e-6);
}

TEST(Likeness, OfACurvedProbeTheShadowIsStrongAndOfOneInFocusItIsNot) {
  SimulateOptions focus = usual_scan(), reversed = usual_scan();
  focus.probe = "disk";
  reversed.defocus = -1;
  const Shadow curved = shadows_of_probe(good_scan().probe())[0];
  EXPECT_EQ(curved.orientation, Orientation::as_given);
  EXPECT_GT(curved.strength, 60);
  EXPECT_LT(shadows_of_probe(simulate(focus).probe())[0].strength, 30);
  EXPECT_NEAR(shadows_of_probe(simulate(reversed).probe())[0].gain, -curved.gain, 0.1);
}

TEST(Likeness, TheMapOfTheOddPartHasItsPeakAtTheGain) {
  const Patterns patterns = patterns_of(good_scan());
  const Likeness likeness = likeness_of(patterns.counts, patterns.mask);
  const double gain = shadows(likeness, patterns.positions)[0].gain;
  const at::Tensor map = odd_map(likeness, patterns.positions, 3, 30);
  const std::int64_t best = map.argmax().item<std::int64_t>();
  EXPECT_NEAR(static_cast<double>(best % 61 - 30) / 10, gain, 0.3);
  EXPECT_NEAR(static_cast<double>(best / 61 - 30), 0, 2);
  EXPECT_TRUE(at::allclose(map, -map.flip({0, 1}), 1e-6, 1e-6));
}

TEST(Likeness, NeighboursAreTheNearestOfEach) {
  const at::Tensor line = at::stack({at::arange(10, at::kDouble), at::zeros({10}, at::kDouble)}, 1);
  for (const auto& [a, b] : neighbours(line, 100, 2)) EXPECT_LE(b - a, 2);
  EXPECT_EQ(neighbours(line, 5, 2).size(), 5u);
  EXPECT_EQ(nearest(line, 3)[0], (std::vector<std::int64_t>{1, 2, 3}));
}

TEST(Likeness, ALargePatternIsBinnedAndItsMaskCountsABlockWithOnePixel) {
  at::Tensor mask = at::zeros({128, 128}, at::kBool);
  mask[5][5] = true;
  const Binned small = binned(at::ones({2, 128, 128}), mask);
  EXPECT_EQ(small.counts.size(-1), 64);
  EXPECT_EQ(small.counts.max().item<float>(), 4);
  EXPECT_EQ(small.mask.sum().item<int>(), 1);
}

}  // namespace
}  // namespace ptyche
