// What is certain is mended, and nothing that the user has said.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/prepare/examine.h"
#include "tests/prepare/faulty_scans.h"

namespace ptyche {
namespace {

std::string acts(const Treatment& treatment) {
  std::string causes;
  for (const Finding& each : treatment.done) causes += each.cause + "; ";
  return causes;
}

bool same_counts(const Scan& one, const Scan& other) {
  return at::equal(one.counts().to(at::kDouble), other.counts().to(at::kDouble));
}

TEST(Treat, LeavesAGoodScanAsItIs) {
  const Treatment treatment = treat(good_scan());
  EXPECT_EQ(acts(treatment), "");
  EXPECT_TRUE(same_counts(treatment.scan, good_scan()));
  EXPECT_TRUE(at::equal(treatment.scan.positions(), good_scan().positions()));
  EXPECT_TRUE(at::equal(treatment.scan.probe(), good_scan().probe()));
}

TEST(Treat, SaysOfACorrectionWhatWasBeforeAndWhatIsAfter) {
  ScanFields fields = fields_of(good_scan());
  fields.positions = fields.positions * 1e-6;
  const auto gap = [](const at::Tensor& of) { return of.slice(-2, 2, 6).slice(-1, 2, 6); };
  fields.mask = at::zeros_like(fields.mask);
  gap(fields.mask).fill_(true);
  const Treatment treatment = treat(Scan(fields));
  ASSERT_EQ(acts(treatment), "positions: unit; mask: inverted; ");
  EXPECT_EQ(treatment.done[0].after,
            fmt::format("steps of {:.4g} px", median_step_px(good_scan().positions())));
  EXPECT_EQ(treatment.done[0].before,
            fmt::format("steps of {:.4g} px", median_step_px(good_scan().positions() * 1e-6)));
  EXPECT_EQ(treatment.done[1].before, "16 of 4096 pixels are counted");
  EXPECT_EQ(treatment.done[1].after, "4080 of 4096 pixels are counted");
  const Remark remark = remark_of(treatment.done[0]);
  EXPECT_EQ(remark.kind, Remark::Kind::correction);
  EXPECT_EQ(remark.before, treatment.done[0].before);
}

TEST(Correction, NamesATurnOfThePositionsByMirrorAngleAndScale) {
  const auto words = [](const TurnPositions& turn) {
    const Scan after = mended(good_scan(), turn, {});
    return with_words({.remedy = turn}, good_scan(), after).after;
  };
  EXPECT_EQ(words({{{-1, 0}, {0, 1}}}), "rows mirrored");
  EXPECT_EQ(words({{{1, 0}, {0, -1}}}), "rows mirrored, then turned by 180.0 degrees");
  EXPECT_EQ(words({{{0, 1}, {-1, 0}}}), "turned by 90.0 degrees");
  EXPECT_EQ(words({{{0, 1}, {1, 0}}}), "rows mirrored, then turned by 90.0 degrees");
  EXPECT_EQ(words({{{0.5, 0}, {0, 0.5}}}), "0.5 times as far apart");
  const double angle = 0.5;
  EXPECT_EQ(words({{{std::cos(angle), std::sin(angle)}, {-std::sin(angle), std::cos(angle)}}}),
            "turned by 28.6 degrees");
}

TEST(Treat, GivesBackTheCountsOfRootsSquaresLogarithmsAndMultiples) {
  const at::Tensor counts = good_scan().counts().to(at::kFloat);
  for (const at::Tensor& values : {counts.sqrt(), counts.square(), counts.log1p(),
                                   counts.log1p() / 2.302585f, 0.37f * counts}) {
    const Treatment treatment = treat(with_counts(good_scan(), values.contiguous()));
    EXPECT_TRUE(same_counts(treatment.scan, good_scan())) << acts(treatment);
    EXPECT_EQ(causes_above_a_note(treatment.diagnosis), "");
  }
}

TEST(Treat, TurnsThePositionsBackInEveryOrientation) {
  const double turns[][4] = {{-1, 0, 0, 1},  {1, 0, 0, -1}, {0, 1, 1, 0},
                             {0, -1, -1, 0}, {0, 1, -1, 0}, {0, -1, 1, 0}};
  for (const auto& m : turns) {
    const Treatment treatment = treat(turned(good_scan(), m[0], m[1], m[2], m[3]));
    EXPECT_LT(apart(treatment.scan.positions(), good_scan().positions()), 1e-6) << acts(treatment);
    EXPECT_EQ(causes_above_a_note(treatment.diagnosis), "");
  }
}

TEST(Treat, OnlyWarnsOfTwinsAndOfAnotherScale) {
  for (const double factor : {-1.0, 2.0, 0.5}) {
    const Scan scan = turned(good_scan(), factor, 0, 0, factor);
    const Treatment treatment = treat(scan);
    EXPECT_EQ(acts(treatment), "");
    EXPECT_TRUE(at::equal(treatment.scan.positions(), scan.positions()));
    EXPECT_TRUE(treatment.diagnosis.has(Level::warn)) << factor;
  }
}

TEST(Treat, MendsSeveralFaultsOneAfterTheOther) {
  const at::Tensor counts = good_scan().counts().to(at::kFloat);
  const Scan faulty =
      turned(with_counts(good_scan(), at::roll(counts.sqrt(), {32, 32}, {1, 2})), 0, 1, 1, 0);
  const Treatment treatment = treat(faulty);
  EXPECT_EQ(acts(treatment),
            "values: amplitudes; centre: at the corner; positions: axes swapped; ");
  EXPECT_TRUE(same_counts(treatment.scan, good_scan()));
  EXPECT_EQ(causes_above_a_note(treatment.diagnosis), "");
}

TEST(Treat, MasksTheBorderThatAShiftOfTheCentreLoses) {
  const at::Tensor counts = at::roll(good_scan().counts(), {4, -3}, {1, 2});
  const Treatment treatment = treat(with_counts(good_scan(), counts));
  EXPECT_EQ(acts(treatment), "centre: off; ");
  const at::Tensor mask = treatment.scan.mask();
  EXPECT_FALSE(mask[63].any().item<bool>());
  EXPECT_FALSE(mask.select(1, 0).any().item<bool>());
  EXPECT_TRUE(mask[30][30].item<bool>());
}

TEST(Treat, MasksADeadHalfAndDoesNotTakeTheOtherHalfsMiddleForTheCentre) {
  at::Tensor counts = good_scan().counts().clone();
  counts.narrow(1, 0, 32).zero_();
  const Treatment treatment = treat(with_counts(good_scan(), counts));
  EXPECT_EQ(acts(treatment), "detector: dead lines; ");
  EXPECT_FALSE(treatment.scan.mask().narrow(0, 0, 32).any().item<bool>());
  EXPECT_TRUE(treatment.scan.mask().narrow(0, 32, 32).all().item<bool>());
}

/// The good scan on a detector of modules, with gaps of two lines, and its mask.
ScanFields with_gaps() {
  ScanFields fields = fields_of(good_scan());
  fields.mask = at::ones({64, 64}, at::kBool);
  fields.mask.narrow(0, 21, 2).fill_(false);
  fields.mask.narrow(1, 40, 2).fill_(false);
  fields.counts = fields.counts * fields.mask;
  return fields;
}

TEST(Treat, MasksGapsThatTheFileDoesNotName) {
  ScanFields fields = with_gaps();
  const at::Tensor right = fields.mask;
  fields.mask = at::ones_like(right);
  const Treatment treatment = treat(Scan(fields));
  EXPECT_EQ(acts(treatment), "detector: gaps; ");
  EXPECT_TRUE(at::equal(treatment.scan.mask(), right));
}

TEST(Treat, MasksDeadPixelsAModuleAndABeamStopWithItsArm) {
  const auto masked = [](const std::function<void(at::Tensor)>& darken) {
    at::Tensor mask = at::ones({64, 64}, at::kBool);
    darken(mask);
    const Treatment treatment = treat(with_counts(good_scan(), good_scan().counts() * mask));
    EXPECT_EQ(acts(treatment), "detector: gaps; ");
    return std::pair(treatment.scan.mask(), mask);
  };
  const auto [dead, dead_right] =
      masked([](at::Tensor mask) { mask[25][30] = mask[35][38] = mask[36][38] = false; });
  EXPECT_TRUE(at::equal(dead, dead_right));
  const auto [module, module_right] =
      masked([](at::Tensor mask) { mask.narrow(0, 33, 9).narrow(1, 24, 9).fill_(false); });
  EXPECT_TRUE(at::equal(module, module_right));
  const auto [stop, stop_right] = masked([](at::Tensor mask) {
    mask.narrow(0, 29, 7).narrow(1, 29, 7).fill_(false);
    mask.narrow(0, 32, 32).narrow(1, 32, 1).fill_(false);
  });
  EXPECT_FALSE(stop.logical_and(stop_right.logical_not()).narrow(0, 0, 44).any().item<bool>());
  EXPECT_EQ(stop.logical_not().logical_and(stop_right).sum().item<std::int64_t>(), 0);
}

TEST(Treat, MovesAMaskToWhereItHidesTheGaps) {
  const ScanFields right = with_gaps();
  EXPECT_EQ(acts(treat(Scan(right))), "");
  ScanFields corner = right, flipped = right, transposed = right;
  corner.counts = at::roll(right.counts, {32, 32}, {1, 2});
  flipped.mask = right.mask.flip(0).contiguous();
  transposed.mask = right.mask.t().contiguous();
  const Treatment at_corner = treat(Scan(corner));
  EXPECT_EQ(acts(at_corner), "mask: in another place; centre: at the corner; ");
  EXPECT_TRUE(at::equal(at_corner.scan.mask(), right.mask));
  for (const ScanFields& each : {flipped, transposed}) {
    const Treatment treatment = treat(Scan(each));
    EXPECT_EQ(acts(treatment), "mask: in another place; ");
    EXPECT_TRUE(at::equal(treatment.scan.mask(), right.mask));
  }
}

TEST(Treat, TakesTheWholeNumbersOfPatternsThatWereDividedByTheirTotals) {
  const at::Tensor counts = good_scan().counts().to(at::kFloat);
  const Treatment treatment = treat(with_counts(good_scan(), counts / counts.sum({1, 2}, true)));
  EXPECT_EQ(acts(treatment), "values: normalised pattern by pattern; ");
  EXPECT_TRUE(same_counts(treatment.scan, good_scan()));
}

TEST(Treat, TakesCosmicRaysOutOfThePatternsAndLeavesTheRest) {
  at::Tensor counts = good_scan().counts().to(at::kFloat).clone();
  for (std::int64_t k = 0; k < counts.size(0); ++k)
    counts[k][6 + 7 * k % 10][(11 * k) % 64] += 3000;
  const Treatment treatment = treat(with_counts(good_scan(), counts));
  EXPECT_EQ(acts(treatment), "detector: cosmic rays; ");
  const at::Tensor off =
      (treatment.scan.counts().to(at::kFloat) - good_scan().counts().to(at::kFloat)).abs();
  EXPECT_LT(off.max().item<double>(), 60);
  EXPECT_LE(off.gt(0).sum().item<std::int64_t>(), counts.size(0));
}

TEST(Treat, MovesAProbeFromTheCornerToTheMiddle) {
  const Treatment treatment =
      treat(good_scan().with_probe(at::roll(good_scan().probe(), {32, 32}, {1, 2})));
  EXPECT_EQ(acts(treatment), "probe: at the corner; ");
  const at::Tensor found = treatment.scan.probe(), right = good_scan().probe();
  EXPECT_LT((found / found.norm() - right / right.norm()).norm().item<double>(), 1e-5);
}

TEST(Treat, InvertsAMaskThatCountsOnlyHotPixels) {
  ScanFields fields = fields_of(good_scan());
  fields.mask = at::zeros({64, 64}, at::kBool);
  fields.counts = fields.counts.to(at::kFloat).clone();
  for (const std::int64_t place : {3, 17, 41, 60}) {
    fields.mask[place][63 - place] = true;
    fields.counts.select(1, place).select(1, 63 - place).fill_(60000);
  }
  const Treatment treatment = treat(Scan(fields));
  EXPECT_EQ(acts(treatment), "mask: inverted; ");
  EXPECT_EQ(treatment.scan.mask().sum().item<std::int64_t>(), 64 * 64 - 4);
}

TEST(Treat, InvertsAMaskAndTakesBackTheFramesThatWereRejectedUnderIt) {
  ScanFields fields = fields_of(good_scan());
  fields.mask = at::zeros({64, 64}, at::kBool);
  fields.mask.narrow(0, 2, 3).fill_(true);
  fields.frame_use = at::zeros({100}, at::kByte);
  fields.frame_use[7] = static_cast<int>(FrameUse::rejected);
  const Treatment treatment = treat(Scan(fields));
  EXPECT_EQ(acts(treatment), "mask: inverted; ");
  EXPECT_EQ(treatment.scan.mask().sum().item<std::int64_t>(), 64 * 64 - 3 * 64);
  EXPECT_EQ(treatment.scan.frames_with(FrameUse::used).size(0), 100);
}

TEST(Treat, RejectsStuckAndGarbageFramesAndNoOthers) {
  at::Tensor counts = good_scan().counts().clone();
  counts.narrow(0, 60, 40).copy_(good_scan().counts()[60].expand({40, 64, 64}));
  counts.narrow(0, 20, 5).zero_();
  const Treatment treatment = treat(with_counts(good_scan(), counts));
  const at::Tensor used = treatment.scan.frames_with(FrameUse::used);
  EXPECT_EQ(used.size(0), 56) << acts(treatment);
  EXPECT_TRUE(used.eq(60).any().item<bool>());
}

TEST(Treat, BringsPositionsInAnotherUnitBack) {
  for (const double factor : {1e-6, 1e-3, 1e3}) {
    const Scan scan = good_scan().with_positions(good_scan().positions() * factor);
    const Treatment treatment = treat(scan);
    EXPECT_EQ(acts(treatment), "positions: unit; ") << factor;
    EXPECT_LT(apart(treatment.scan.positions(), good_scan().positions()), 1e-6);
  }
}

TEST(Treat, LeavesOutPatternsThatLieWhereNoOtherDoes) {
  for (const double away : {300.0, 1e5, 1e12}) {
    ScanFields fields = fields_of(good_scan());
    fields.positions = fields.positions.clone();
    fields.positions[7] += away;
    const Treatment treatment = treat(Scan(fields));
    EXPECT_EQ(acts(treatment), "positions: far away; ") << away;
    EXPECT_EQ(treatment.scan.frames_with(FrameUse::rejected).size(0), 1) << away;
    EXPECT_EQ(treatment.scan.frame_use()[7].item<int>(), static_cast<int>(FrameUse::rejected));
  }
}

TEST(Treat, GivesEachPatternItsPlaceWhereTheyAreShiftedByOne) {
  for (const std::int64_t by : {-1, 1}) {
    const Treatment treatment =
        treat(with_counts(good_scan(), at::roll(good_scan().counts(), by, 0)));
    const std::int64_t lost = by > 0 ? 0 : 99;
    EXPECT_EQ(acts(treatment), "order: patterns shifted against positions; ");
    EXPECT_EQ(treatment.scan.frame_use()[lost].item<int>(), static_cast<int>(FrameUse::rejected));
    EXPECT_TRUE(at::equal(treatment.scan.positions()[50], good_scan().positions()[50 - by]));
  }
}

TEST(Treat, NeverActsAgainstWhatTheUserSaid) {
  const at::Tensor counts = good_scan().counts().to(at::kFloat);
  ScanFields masked = fields_of(good_scan());
  masked.mask = at::zeros({64, 64}, at::kBool);
  masked.mask.narrow(0, 20, 2).fill_(true);
  const std::pair<std::string, Scan> said[] = {
      {"domain", with_counts(good_scan(), counts.sqrt())},
      {"mean-counts", with_counts(good_scan(), 0.37f * counts)},
      {"center", with_counts(good_scan(), at::roll(counts, {32, 32}, {1, 2}))},
      {"mask", Scan(masked)},
      {"flip-x", turned(good_scan(), 0, 1, 1, 0)},
      {"swap-xy", turned(good_scan(), -1, 0, 0, 1)}};
  for (const auto& [option, scan] : said) {
    const Treatment treatment = treat(scan, {.given = {option}});
    EXPECT_EQ(acts(treatment), "") << option;
    EXPECT_TRUE(treatment.diagnosis.has(Level::warn)) << option;
    EXPECT_NE(treatment.diagnosis.findings[0].text.find("--" + option), std::string::npos);
  }
}

TEST(Treat, CalibratesTheProbeAnewUnlessTheFileDid) {
  ScanFields fields = fields_of(good_scan());
  fields.counts = fields.counts.to(at::kFloat).sqrt();
  fields.probe_calibrated = false;
  fields.probe = fields.probe * 5;
  const Scan own = treat(Scan(fields)).scan;
  EXPECT_NEAR(probe_power(own.probe()) / own.counts().sum(at::kDouble).item<double>() * 100, 1,
              0.05);
  fields.probe_calibrated = true;
  EXPECT_TRUE(at::equal(treat(Scan(fields)).scan.probe(), fields.probe));
}

TEST(Treat, MakesAProbeThatTheFileDoesNotGiveAnew) {
  ScanFields fields = fields_of(good_scan());
  fields.counts = at::roll(fields.counts, {32, 32}, {1, 2}).contiguous();
  fields.probe = probe_of_mean_pattern(fields.counts, good_scan().mask(), at::arange(100));
  fields.probe_given = false;
  const Treatment treatment = treat(Scan(fields));
  const at::Tensor wanted =
      probe_of_mean_pattern(good_scan().counts(), good_scan().mask(), at::arange(100));
  const at::Tensor found = treatment.scan.probe();
  const double ratio = std::sqrt(probe_power(found) / probe_power(wanted));
  EXPECT_TRUE(at::allclose(found, wanted * ratio, 1e-3, 1e-2));
}

TEST(Treat, DropsATruthWhoseFrameThePositionsLeave) {
  ScanFields fields = good_scan().fields();
  fields.positions = turned(good_scan(), 0, 1, 1, 0).positions();
  EXPECT_FALSE(treat(Scan(fields)).scan.truth().defined());
}

TEST(Treat, RefusesToGoOnWithOnePattern) {
  const Remedy all = RejectFrames{at::arange(99)};
  EXPECT_THROW(mended(good_scan(), all, {}), InvalidInput);
}

}  // namespace
}  // namespace ptyche
