#include "ptyche/stitch/stitch.h"

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/stitch/synchronise.h"
#include "tests/support/checks.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

/// The true patches of all used patterns.
Patches true_patches(const Scan& scan) {
  const at::Tensor frames = scan.frames_with(FrameUse::used);
  const at::Tensor positions = scan.positions().index_select(0, frames);
  const at::Tensor corners = split_positions(positions, Interpolation::probe_fourier).whole - 8.0;
  return {.patches = extract_patches(scan.truth(), corners, 16),
          .frames = frames,
          .probe = scan.probe(),
          .background = {},
          .interpolation = Interpolation::probe_fourier};
}

TEST(Stitch, ReturnsTheObjectItsPatchesWereCutFrom) {
  const Scan scan = small_scan();
  const Reconstruction image = stitch(true_patches(scan), scan);
  const at::Tensor covered = image.coverage.gt(0);
  ASSERT_EQ(image.origin_row, 0);
  ASSERT_EQ(image.origin_col, 0);
  const at::Tensor truth =
      scan.truth().slice(0, 0, image.object.size(0)).slice(1, 0, image.object.size(1));
  ASSERT_EQ(truth.sizes(), image.object.sizes());
  EXPECT_GT(covered.sum().item<std::int64_t>(), 500);
  EXPECT_LT(relative_difference(image.object.masked_select(covered), truth.masked_select(covered)),
            1e-6);
}

// To the even pixel, half a pixel would go one way in the scan's frame and the other way on a
// canvas whose origin is odd.
TEST(Stitch, PutsPatchesHalfWayBetweenPixelsWhereTheyWereCut) {
  const Scan given = small_scan();
  for (const double shift : {-0.5, 0.5}) {
    const Scan scan = given.with_positions(given.positions().floor() + shift + 1);
    const Reconstruction image = stitch(true_patches(scan), scan);
    const std::int64_t row = image.origin_row, col = image.origin_col;
    const std::int64_t rows = std::min(image.object.size(0), scan.truth().size(0) - row);
    const std::int64_t cols = std::min(image.object.size(1), scan.truth().size(1) - col);
    const at::Tensor truth = scan.truth().slice(0, row, row + rows).slice(1, col, col + cols);
    const at::Tensor object = image.object.slice(0, 0, rows).slice(1, 0, cols);
    const at::Tensor covered = image.coverage.slice(0, 0, rows).slice(1, 0, cols).gt(0);
    EXPECT_LT(relative_difference(object.masked_select(covered), truth.masked_select(covered)),
              1e-6)
        << shift;
  }
}

TEST(Stitch, BringsPatchesOfAnyPhaseToOne) {
  const Scan scan = small_scan();
  Patches patches = true_patches(scan);
  const at::Tensor angle = random_tensor({patches.patches.size(0), 1, 1}, at::kFloat, 4) * 3;
  patches.patches = patches.patches * at::polar(at::ones_like(angle), angle);
  const at::Tensor turned = stitch(patches, scan).object;
  const at::Tensor straight = stitch(true_patches(scan), scan).object;
  const at::Tensor lit = stitch(patches, scan).coverage.gt(0);
  const at::Tensor a = turned.masked_select(lit), b = straight.masked_select(lit);
  const at::Tensor phase = (a.conj() * b).sum();
  EXPECT_LT(relative_difference(a * (phase / phase.abs()), b), 1e-4);
}

// Rounds over neighbours alone would take millions: what one end says travels a few patches a
// round.
TEST(Synchronise, BringsTheEndsOfALongLineToOnePhase) {
  constexpr std::int64_t kPatches = 3000, kSize = 8;
  at::manual_seed(3);
  const at::Tensor line = at::arange(kPatches, at::kDouble);
  // Slow waves, which neighbours hardly see, and a little of each patch's own.
  const at::Tensor angle = 3 * (line * 0.002).sin() + 0.3 * at::rand({kPatches}, at::kDouble);
  const at::Tensor turned = at::polar(at::ones_like(angle), angle).to(at::kComplexFloat);
  const at::Tensor patches = turned.view({-1, 1, 1}).expand({-1, kSize, kSize});
  const at::Tensor corners = at::stack({at::zeros_like(line), 2 * line}, 1);
  const at::Tensor together = synchronise(patches, at::ones({kSize, kSize}), corners) * turned;
  EXPECT_LT((together - together.mean()).abs().max().item<double>(), 1e-5);
}

// Neighbours that agree can still go round in circles, which no wave of phase undoes, where all
// factors begin alike.
TEST(Synchronise, BringsAFieldOfPatchesOfAnyPhaseToOneInSpiteOfNoise) {
  constexpr std::int64_t kPatches = 2500, kSize = 8;
  at::manual_seed(3);
  const at::Tensor angle = 2 * std::numbers::pi * at::rand({kPatches}, at::kDouble);
  const at::Tensor turned = at::polar(at::ones_like(angle), angle).to(at::kComplexFloat);
  const at::Tensor patches =
      turned.view({-1, 1, 1}) + at::randn({kPatches, kSize, kSize}, at::kComplexFloat);
  const at::Tensor corners = at::rand({kPatches, 2}, at::kDouble).mul(70).round();
  const at::Tensor together = synchronise(patches, at::ones({kSize, kSize}), corners) * turned;
  EXPECT_GT(together.mean().abs().item<double>(), 0.98);
}

TEST(Synchronise, LeavesAPatchThatLiesAloneAsItIs) {
  const at::Tensor patches = at::polar(at::ones({3, 8, 8}), at::full({3, 8, 8}, 0.5));
  const at::Tensor corners = at::tensor({0., 0., 1., 1., 50., 50.}).view({3, 2});
  const at::Tensor factors = synchronise(patches, at::ones({8, 8}), corners);
  EXPECT_LT((factors - 1).abs().max().item<double>(), 1e-6);
  EXPECT_TRUE(synchronise(patches.slice(0, 2), at::ones({8, 8}), corners.slice(0, 2))
                  .eq(1)
                  .all()
                  .item<bool>());
}

TEST(Stitch, IsOneWhereNoPatchLies) {
  const Scan scan = small_scan();
  const Reconstruction image = stitch(true_patches(scan), scan);
  const at::Tensor dark = image.coverage.eq(0);
  EXPECT_GT(dark.sum().item<std::int64_t>(), 0);
  EXPECT_TRUE(image.object.masked_select(dark).eq(1).all().item<bool>());
}

TEST(Stitch, LeavesRoomForPatternsThatWereHeldOut) {
  const Scan scan = small_scan();
  at::Tensor use = scan.frame_use().clone();
  use.slice(0, 30, 36).fill_(static_cast<std::int64_t>(FrameUse::held_out));
  const Scan held = scan.with_frame_use(use);
  const Reconstruction image = stitch(true_patches(held), held);
  EXPECT_EQ(image.object.sizes(), stitch(true_patches(scan), scan).object.sizes());
}

TEST(Stitch, RefusesPatchesOfAnotherScan) {
  const Scan scan = small_scan();
  Patches patches = true_patches(scan);
  patches.frames = patches.frames + 5;
  EXPECT_THROW(stitch(patches, scan), InvalidInput);
}

/// As many patches of independent complex noise of variance 1 about 5 as the scan has patterns.
Patches noisy_patches(const Scan& scan, std::uint64_t seed) {
  Patches patches = true_patches(scan);
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const at::Tensor noise = at::randn(patches.patches.sizes(), generator, at::kComplexFloat);
  patches.patches = 5 + noise;
  return patches;
}

at::Tensor well_seen(const Agreement& agreement) { return agreement.seen.gt(3); }

TEST(Agreement, OfEqualPatchesOfAnyPhaseIsPerfect) {
  const Scan scan = small_scan();
  Patches patches = true_patches(scan);
  const at::Tensor angle = random_tensor({patches.patches.size(0), 1, 1}, at::kFloat, 4) * 3;
  patches.patches = patches.patches * at::polar(at::ones_like(angle), angle);
  const Agreement agreement = agreement_of(patches, stitch(patches, scan));
  ASSERT_GT(well_seen(agreement).sum().item<std::int64_t>(), 100);
  EXPECT_LT(agreement.variance.masked_select(well_seen(agreement)).max().item<double>(), 1e-6);
}

TEST(Agreement, OfIndependentNoiseIsItsVarianceAndForetellsTheErrorOfTheMean) {
  const Scan scan = small_scan(100);
  const Patches patches = noisy_patches(scan, 7);
  const Reconstruction image = stitch(patches, scan);
  const Agreement agreement = agreement_of(patches, image);
  const at::Tensor where = well_seen(agreement);
  const at::Tensor variance = agreement.variance.masked_select(where);
  EXPECT_NEAR(variance.mean().item<double>(), 1, 0.08);
  const at::Tensor error = at::view_as_real(image.object - 5).square().sum(-1);
  const double foretold = (variance / agreement.seen.masked_select(where)).mean().item<double>();
  EXPECT_NEAR(error.masked_select(where).mean().item<double>() / foretold, 1, 0.15);
}

TEST(Agreement, IsUnknownWhereFewerThanTwoPatchesLie) {
  const Scan scan = small_scan(1);
  const Patches patches = true_patches(scan);
  const Agreement one = agreement_of(patches, stitch(patches, scan));
  EXPECT_TRUE(one.variance.isnan().all().item<bool>());
  EXPECT_LE(one.seen.max().item<double>(), 1.0001);
  EXPECT_EQ(one.seen[0][0].item<double>(), 0);
}

}  // namespace
}  // namespace ptyche
