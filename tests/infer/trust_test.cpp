#include "ptyche/infer/trust.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ptyche/infer/infer.h"
#include "ptyche/model/model.h"
#include "ptyche/model/shipped_model.h"
#include "ptyche/simulate/simulate.h"

namespace ptyche {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Nothing to complain of.
TrustEvidence usual() {
  TrustEvidence evidence;
  evidence.light = 3;
  evidence.photons = 1e5;
  evidence.left = 0.1;
  evidence.solved_told = 0.8;
  evidence.again_told = 0.82;
  evidence.told_elsewhere = 0.6;
  evidence.used_told = 0.9;
  evidence.again_used_told = 0.91;
  evidence.misfit = 0.02;
  evidence.again_misfit = 0.01;
  evidence.seen = 5;
  return evidence;
}

Trust judged(const TrustEvidence& evidence) {
  Trust trust;
  trust.evidence = evidence;
  judge_likeness(trust);
  return trust;
}

TEST(Likeness, RaisesNoAlarmWhereRightPhysicsWouldTellAsMuch) {
  const Trust trust = judged(usual());
  EXPECT_LT(trust.unlike, 0.5);
  EXPECT_EQ(trust.reason, "");
}

TEST(Likeness, RaisesAnAlarmForEachOfItsReasonsAndNamesIt) {
  TrustEvidence less = usual(), own = usual(), more = usual(), elsewhere = usual(),
                nothing = usual();
  less.again_told = 0.97;
  own.used_told = 0.85;
  more.misfit = 0.09;
  elsewhere.told_elsewhere = 0.85;
  nothing.left = 8;
  for (const auto& [evidence, word] :
       {std::pair{less, "not seen correlates"}, std::pair{own, "its own patterns correlates"},
        std::pair{more, "more of what the mean"}, std::pair{elsewhere, "scale of the positions"},
        std::pair{nothing, "no image explains"}}) {
    const Trust trust = judged(evidence);
    EXPECT_TRUE(trust.alarmed()) << word;
    EXPECT_NE(trust.reason.find(word), std::string::npos) << trust.reason;
  }
}

TEST(Likeness, AddsUpSignsThatAreTooSmallAlone) {
  TrustEvidence less = usual(), own = usual(), both = usual();
  less.again_told = both.again_told = 0.89;
  own.used_told = both.used_told = 0.88;
  EXPECT_FALSE(judged(less).alarmed());
  EXPECT_FALSE(judged(own).alarmed());
  both.told_elsewhere = 0.803;
  EXPECT_TRUE(judged(both).alarmed());
}

TEST(Likeness, LetsLittleBeForetoldWhereFewPatternsSeeAPixelAndLeftWhereLightIsLow) {
  TrustEvidence few = usual(), dim = usual();
  few.again_told = 0.95;
  few.seen = 2;
  dim.misfit = 0.09;
  dim.light = 1.8;
  EXPECT_FALSE(judged(few).alarmed());
  EXPECT_FALSE(judged(dim).alarmed());
}

TEST(Likeness, ALittleMisfitIsASignWhereLightIsPlentyAndPatternsAreMany) {
  TrustEvidence bright = usual(), alone = usual();
  bright.misfit = alone.misfit = 0.04;
  EXPECT_FALSE(judged(bright).alarmed());
  bright.light = alone.light = 5;
  EXPECT_TRUE(judged(bright).alarmed());
  alone.seen = 2;
  EXPECT_FALSE(judged(alone).alarmed());
}

TEST(Likeness, AsksMoreOfAnotherScaleWhereAPatternHasFewPhotons) {
  TrustEvidence bright = usual();
  bright.told_elsewhere = bright.solved_told + 0.03;
  TrustEvidence faint = bright;
  faint.photons = 150;
  EXPECT_TRUE(judged(bright).alarmed());
  EXPECT_FALSE(judged(faint).alarmed());
}

TEST(Likeness, SaysNothingWhereThePhotonsCannotTell) {
  TrustEvidence faint = usual();
  faint.solved_told = 0;
  faint.light = 1.05;
  EXPECT_EQ(judged(faint).unlike, 0);
  EXPECT_EQ(judged({.light = kNaN, .left = kNaN, .solved_told = kNaN, .again_told = kNaN}).unlike,
            0);
}

/// Patches of a scan by the program's network, their image and what is said of it.
struct Looked {
  Reconstruction image;
  Trust trust;
};

Looked looked_at(const Scan& scan) {
  const Model model = model_for(scan, shipped_model());
  const Patches patches = infer(model, scan, {});
  const Reconstruction image = image_of(patches, scan, {});
  return {image, trust_in(agreement_of(patches, image), image, scan,
                          {.again = network_again(model, image, scan, {})})};
}

/// The mean of the map over the columns from `first` to `last`.
double mean_of(const at::Tensor& map, std::int64_t first, std::int64_t last) {
  return at::nanmean(map.slice(1, first, last)).item<double>();
}

Scan leaves(double photons) {
  return simulate({.pattern_size = 32,
                   .frames = 100,
                   .step_px = 3,
                   .photons = photons,
                   .probe_diameter_px = 12});
}

TEST(Trust, MapsExactlyTheLitPixelsThatAtLeastTwoPatternsSee) {
  const Looked looked = looked_at(leaves(1e5));
  const at::Tensor& map = looked.trust.map;
  ASSERT_EQ(map.sizes(), looked.image.projection().sizes());
  const at::Tensor known = at::isfinite(map);
  EXPECT_GT(known.sum().item<std::int64_t>(), 500);
  EXPECT_TRUE(map.masked_select(known).gt(0).all().item<bool>());
  EXPECT_TRUE(map.masked_select(looked.image.coverage.eq(0)).isnan().all().item<bool>());
  EXPECT_FALSE(looked.trust.alarmed());
}

TEST(Trust, ExpectsMoreErrorWhereThereIsLessLight) {
  EXPECT_GT(looked_at(leaves(300)).trust.expected_error,
            1.1 * looked_at(leaves(1e5)).trust.expected_error);
}

TEST(Trust, ExpectsLessErrorOfAPolishedImage) {
  const Scan scan = leaves(1e5);
  const Model model = model_for(scan, shipped_model());
  const InferOptions options{.polish = true};
  const auto [image, agreement] = inferred_image(model, scan, options);
  const ImagesBeside beside{.again = network_again(model, image, scan, options)};
  const double expected =
      trust_in(agreement, image, scan, beside, {}, /*polished=*/true).expected_error;
  EXPECT_LT(expected, 0.9 * looked_at(scan).trust.expected_error);
}

TEST(Trust, ExpectsMoreErrorWhereAnotherImageOfThePatternsIsAnother) {
  const Scan scan = leaves(1e5);
  const Model model = model_for(scan, shipped_model());
  const Patches patches = infer(model, scan, {});
  const Reconstruction image = image_of(patches, scan, {});
  const std::int64_t cols = image.cols(), half = cols / 2;
  Reconstruction other = image;
  other.object = image.object.clone();
  // A stripe of rows over the left half: no ramp, shift or factor undoes it.
  const at::Tensor stripes =
      at::arange(image.rows(), at::kLong).remainder(6).lt(3).to(at::kFloat).unsqueeze(1);
  other.object.slice(2, 0, half) *= 1 + 0.3 * stripes;
  for (const ImagesBeside& beside : {ImagesBeside{.solved = other}, ImagesBeside{.again = other}}) {
    const at::Tensor map = trust_in(agreement_of(patches, image), image, scan, beside).map;
    EXPECT_GT(mean_of(map, 0, half - 12), 1.2 * mean_of(map, half + 12, cols));
  }
}

TEST(Trust, TakesTheMeanWhereTheOtherImageDoesNotReach) {
  const Scan scan = leaves(1e4);
  const Model model = model_for(scan, shipped_model());
  const Patches patches = infer(model, scan, {});
  const Reconstruction image = image_of(patches, scan, {});
  Reconstruction part = network_again(model, image, scan, {});
  const Trust whole = trust_in(agreement_of(patches, image), image, scan, {.again = part});
  const std::int64_t cut_off = 6;  // of each side
  const auto middle = [&](const at::Tensor& values) {
    return values.slice(0, cut_off, values.size(0) - cut_off)
        .slice(1, cut_off, values.size(1) - cut_off)
        .clone();
  };
  part.object = middle(part.projection()).unsqueeze(0);
  part.coverage = middle(part.coverage);
  part.origin_row += cut_off;
  part.origin_col += cut_off;
  const Trust some = trust_in(agreement_of(patches, image), image, scan, {.again = part});
  EXPECT_TRUE(at::isfinite(some.map).equal(at::isfinite(whole.map)));
  EXPECT_NEAR(some.expected_error, whole.expected_error, 0.1 * whole.expected_error);
  // Far from the cut, but for the factor, nothing is another.
  const at::Tensor inside = middle(middle(middle(whole.map))),
                   then = middle(middle(middle(some.map)));
  EXPECT_LT(at::nanmean((then / inside - 1).abs()).item<double>(), 0.03);
}

TEST(Trust, LooksAtThePhysicsWhereNoPixelIsSeenTwiceAndMapsNothing) {
  const Scan scan = simulate(
      {.pattern_size = 32, .frames = 16, .step_px = 40, .photons = 1e5, .probe_diameter_px = 12});
  const Model model = model_for(scan, shipped_model());
  const auto [image, agreement] = inferred_image(model, scan, {});
  const Trust trust = measured_trust(agreement, image, scan, scan.probe(), model, {});
  EXPECT_FALSE(trust.map.defined());
  EXPECT_TRUE(std::isfinite(trust.evidence.solved_told));
  EXPECT_EQ(first_line(trust).rfind("unlike what the network knows", 0), 0u);
}

TEST(NetworkAgain, LiesNearerToTheImageWhereThereIsMoreLight) {
  EXPECT_LT(looked_at(leaves(1e6)).trust.evidence.again,
            0.8 * looked_at(leaves(1e3)).trust.evidence.again);
}

/// The alarm's number.
double unlike(const Scan& scan) {
  Trust trust;
  examine_physics(trust.evidence, scan, scan.probe());
  judge_likeness(trust);
  return trust.unlike;
}

TEST(TrustSlow, AlarmsForShuffledPositionsAndNotForTheScanAsItIs) {
  const at::Tensor order = (at::arange(100, at::kLong) * 37).remainder(100);
  for (const Scan& scan : {leaves(1e5), simulate({.frames = 100, .photons = 1e5})}) {
    EXPECT_LT(unlike(scan), 0.8);
    EXPECT_GT(unlike(scan.with_positions(scan.positions().index_select(0, order))), 1);
  }
}

}  // namespace
}  // namespace ptyche
