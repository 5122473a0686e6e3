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
  const at::Tensor truth = scan.truth().slice(0, 0, image.rows()).slice(1, 0, image.cols());
  ASSERT_EQ(truth.sizes(), image.projection().sizes());
  EXPECT_GT(covered.sum().item<std::int64_t>(), 500);
  EXPECT_LT(
      relative_difference(image.projection().masked_select(covered), truth.masked_select(covered)),
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
    const std::int64_t rows = std::min(image.rows(), scan.truth().size(0) - row);
    const std::int64_t cols = std::min(image.cols(), scan.truth().size(1) - col);
    const at::Tensor truth = scan.truth().slice(0, row, row + rows).slice(1, col, col + cols);
    const at::Tensor object = image.projection().slice(0, 0, rows).slice(1, 0, cols);
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
  EXPECT_TRUE(image.projection().masked_select(dark).eq(1).all().item<bool>());
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
  const at::Tensor error = at::view_as_real(image.projection() - 5).square().sum(-1);
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

/// A scan of many patterns in rows, and the true patches of all, of phases within 1 rad; what the
/// patches know beside that differs by `noise`.
struct ManyPatches {
  Scan scan;
  Patches patches;
};

ManyPatches many_patches(double noise) {
  constexpr std::int64_t kRows = 50, kCols = 50, kStep = 3, kSize = 48;
  const at::Tensor row = at::arange(kRows, at::kDouble) * kStep,
                   col = at::arange(kCols, at::kDouble) * kStep;
  const at::Tensor places =
      at::stack({row.repeat_interleave(kCols), col.repeat({kRows})}, 1) + kSize / 2;
  const at::Tensor axis = at::arange(kSize, at::kFloat) - kSize / 2;
  const at::Tensor power = (axis.square().unsqueeze(1) + axis.square()).mul(-1.0 / 72).exp();
  ManyPatches many{.scan = Scan({.counts = at::ones({kRows * kCols, 1, 1}, at::kByte)
                                               .expand({kRows * kCols, kSize, kSize}),
                                 .positions = places,
                                 .probe = power.to(at::kComplexFloat).unsqueeze(0)}),
                   .patches = {}};
  const std::int64_t side = kRows * kStep + kSize + 8;
  const at::Tensor x = at::arange(side, at::kFloat) / 9;
  const at::Tensor object = at::polar(1 + 0.3 * x.sin().unsqueeze(1) * (1.7 * x).cos(),
                                      0.8 * (x.unsqueeze(1) + 0.5 * x).sin());
  at::Generator generator = at::detail::createCPUGenerator(11);
  const at::Tensor patches = extract_patches(object, places - kSize / 2.0, kSize);
  const at::Tensor angle = at::rand({kRows * kCols, 1, 1}, generator) * 2 - 1;
  const at::Tensor errors = at::randn(patches.sizes(), generator, at::kComplexFloat) * noise;
  many.patches = {.patches = (patches + errors) * at::polar(at::ones_like(angle), angle),
                  .frames = at::arange(kRows * kCols, at::kLong),
                  .probe = many.scan.probe(),
                  .background = {},
                  .interpolation = Interpolation::probe_fourier};
  return many;
}

/// The image of all patches at once, by synchronise and a sum.
at::Tensor at_once(const ManyPatches& many, const Reconstruction& image) {
  const at::Tensor power = many.scan.probe()[0].abs().square();
  const at::Tensor corners =
      many.scan.positions() - 24.0 -
      at::tensor({image.origin_row, image.origin_col}, at::kLong).to(at::kDouble);
  const at::Tensor factors = synchronise(many.patches.patches, power, corners);
  at::Tensor sum = at::zeros_like(image.projection()), weight = at::zeros_like(image.coverage);
  for (std::int64_t k = 0; k < corners.size(0); ++k) {
    const auto row = corners[k][0].item<double>(), col = corners[k][1].item<double>();
    const auto cut_out = [&](const at::Tensor& canvas) {
      return canvas.narrow(0, static_cast<std::int64_t>(row), 48)
          .narrow(1, static_cast<std::int64_t>(col), 48);
    };
    cut_out(sum).add_(many.patches.patches[k] * factors[k] * power);
    cut_out(weight).add_(power);
  }
  return sum / weight.clamp_min(1e-12);
}

TEST(StitchInOrder, GivesTheImageOfAllPatchesAtOnceWhereTheyAgree) {
  const ManyPatches many = many_patches(0);
  ASSERT_TRUE(stitches_in_order(many.scan.frames(), 48, at::kCPU));
  const Reconstruction image = stitch(many.patches, many.scan);
  const at::Tensor lit = image.coverage.gt(0.01);
  ASSERT_GT(lit.sum().item<std::int64_t>(), 20000);
  EXPECT_LT(relative_difference(image.projection().masked_select(lit),
                                at_once(many, image).masked_select(lit)),
            1e-4);
}

TEST(StitchInOrder, OfNoisyPatchesDiffersByMuchLessThanTheNoise) {
  const ManyPatches many = many_patches(0.3);
  const Reconstruction image = stitch(many.patches, many.scan);
  const at::Tensor lit = image.coverage.gt(0.01);
  EXPECT_LT(relative_difference(image.projection().masked_select(lit),
                                at_once(many, image).masked_select(lit)),
            0.005);
}

TEST(StitchInOrder, IsTheSameHoweverManyComeAtATime) {
  const ManyPatches many = many_patches(0.3);
  std::vector<at::Tensor> objects;
  for (const std::int64_t at_a_time : {7, 1000}) {
    StitcherInOrder stitcher(many.patches, many.scan);
    for (const at::Tensor& some : many.patches.patches.split(at_a_time)) stitcher.add(some);
    objects.push_back(stitcher.finish().image.object);
  }
  EXPECT_TRUE(objects[0].equal(objects[1]));
}

TEST(StitchInOrder, KnowsHowFarPatchesAgreeAsAllAtOnceDo) {
  const ManyPatches many = many_patches(0.3);
  StitcherInOrder stitcher(many.patches, many.scan);
  stitcher.add(many.patches.patches);
  const Stitched found = stitcher.finish();
  const Agreement whole = agreement_of(many.patches, found.image);
  const at::Tensor where = well_seen(whole);
  ASSERT_GT(where.sum().item<std::int64_t>(), 20000);
  EXPECT_LT(relative_difference(found.agreement.seen, whole.seen), 1e-4);
  const double mean = whole.variance.masked_select(where).mean().item<double>();
  EXPECT_NEAR(found.agreement.variance.masked_select(where).mean().item<double>(), mean,
              0.02 * mean);
}

TEST(StitchInOrder, OfScatteredPatternsGoesAlongAnAxis) {
  const ManyPatches many = many_patches(0);
  EXPECT_TRUE(order_to_stitch(many.scan.positions(), 48).equal(at::arange(2500, at::kLong)));
  at::Generator generator = at::detail::createCPUGenerator(3);
  const at::Tensor scattered =
      many.scan.positions().index_select(0, at::randperm(2500, generator, at::kLong));
  const at::Tensor order = order_to_stitch(scattered, 48);
  const auto at_once_of = [](const at::Tensor& positions) {
    return PhasesInOrder(at::ones({48, 48}), positions).most_at_once(0);
  };
  EXPECT_GT(at_once_of(scattered), 1500);
  EXPECT_LT(at_once_of(scattered.index_select(0, order)), 500);
}

}  // namespace
}  // namespace ptyche
