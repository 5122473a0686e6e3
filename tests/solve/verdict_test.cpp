// Good, doubtful or failed: the rule, and the verdict on images whose truth is known.
#include "ptyche/solve/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ptyche/evaluate/compare.h"
#include "ptyche/simulate/simulate.h"
#include "ptyche/solve/automatic.h"
#include "ptyche/solve/illumination.h"
#include "ptyche/solve/solve.h"

namespace ptyche {
namespace {

VerdictEvidence good_evidence() {
  return {.starts = 0.1, .again = 0.1, .misfit = 0.01, .told = 0.9, .told_again = 0.9};
}

TEST(VerdictRule, IsGoodWhereBothDistancesAreSmallAndThePatternsAreDescribed) {
  const Verdict verdict = verdict_of(good_evidence());
  EXPECT_EQ(verdict.word, VerdictWord::good);
  EXPECT_TRUE(verdict.reasons.empty());
  EXPECT_LT(verdict.low, verdict.expected_error);
  EXPECT_GT(verdict.high, verdict.expected_error);
}

TEST(VerdictRule, WithADoubtAGoodImageIsDoubtfulAndAFailedOneStaysFailed) {
  const std::string doubt = "positions: scale, or the defocus";
  const Verdict verdict = verdict_of(good_evidence(), doubt);
  EXPECT_EQ(verdict.word, VerdictWord::doubtful);
  EXPECT_EQ(verdict.reasons, std::vector<std::string>{doubt});
  VerdictEvidence misfit = good_evidence();
  misfit.misfit = 0.4;
  EXPECT_EQ(verdict_of(misfit, doubt).word, VerdictWord::failed);
}

TEST(VerdictRule, LightOppositeToHiddenPixelsIsThatOfRowsWithoutTheirMirrorRow) {
  constexpr std::int64_t size = 16;
  ScanFields fields;
  fields.counts = at::ones({2, size, size});
  fields.positions = at::zeros({2, 2}, at::kDouble);
  fields.probe = at::ones({1, size, size}, at::kComplexFloat);
  fields.mask = at::ones({size, size}, at::kBool);
  fields.frame_use = at::zeros({2}, at::kByte);
  EXPECT_DOUBLE_EQ(one_sided_light(Scan(fields)), 0);
  fields.mask = fields.mask.clone();
  fields.mask.slice(0, 0, size / 2).fill_(false);
  // Counted are rows 8 .. 15, of which row 8 is its own mirror.
  EXPECT_DOUBLE_EQ(one_sided_light(Scan(fields)), 7.0 / 8);
}

TEST(VerdictRule, FailsWhatIsNotDescribedOrNotForetoldHoweverSmallTheDistances) {
  VerdictEvidence misfit = good_evidence(), told = good_evidence();
  misfit.misfit = 0.4;
  told.told = 0.6;
  for (const VerdictEvidence& evidence : {misfit, told}) {
    const Verdict verdict = verdict_of(evidence);
    EXPECT_EQ(verdict.word, VerdictWord::failed);
    EXPECT_EQ(verdict.reasons.size(), 1u);
  }
}

TEST(VerdictRule, CallsASmallMisfitOfAnImageThatStandsAModelThatLacksSomething) {
  VerdictEvidence evidence = good_evidence();
  evidence.misfit = 0.08;
  const Verdict verdict = verdict_of(evidence);
  EXPECT_EQ(verdict.word, VerdictWord::doubtful);
  EXPECT_NE(verdict.reasons.at(0).find("the model lacks something"), std::string::npos);
}

TEST(VerdictRule, NoPatternContradictsAnImageThatFitsThemBelowPhotonNoise) {
  VerdictEvidence evidence = good_evidence();
  evidence.misfit = -0.05;
  evidence.misfit_again = -0.2;
  EXPECT_EQ(verdict_of(evidence).word, VerdictWord::doubtful);
  evidence.misfit = 0.05;
  evidence.misfit_again = -0.1;
  EXPECT_EQ(verdict_of(evidence).word, VerdictWord::failed);
}

TEST(VerdictRule, TheExpectedErrorGrowsWithEveryDistance) {
  const VerdictEvidence middle = good_evidence();
  for (double VerdictEvidence::*each :
       {&VerdictEvidence::starts, &VerdictEvidence::again, &VerdictEvidence::beside}) {
    VerdictEvidence farther = middle;
    farther.*each += 0.2;
    EXPECT_GT(expected_error(farther), 1.05 * expected_error(middle));
  }
}

TEST(VerdictRule,
     MoreIsExpectedOfAnImageThatForetellsMoreAndOfMorePatternsThanTheSecondImagesHave) {
  VerdictEvidence told = good_evidence(), part = told;
  told.told = 0.97;
  part.share = 0.3;
  EXPECT_LT(expected_error(told), 0.9 * expected_error(good_evidence()));
  EXPECT_LT(expected_error(part), 0.9 * expected_error(good_evidence()));
}

TEST(VerdictRule, WhereNoImageComesAgainNothingElseMakesTheExpectedErrorSmaller) {
  VerdictEvidence evidence = good_evidence();
  evidence.again = 1.2;
  evidence.told = 0.99;
  evidence.share = 0.01;
  EXPECT_EQ(expected_error(evidence), 1);
}

TEST(VerdictRule, AnotherStartThatHasFailedItselfTellsNoMoreThanThat) {
  VerdictEvidence far = good_evidence(), farther = far;
  far.starts = 0.85;
  farther.starts = 1.2;
  EXPECT_EQ(expected_error(far), expected_error(farther));
  EXPECT_EQ(verdict_of(far).word, VerdictWord::failed);
}

TEST(VerdictRule, SaysInOneLineWhatToExpect) {
  Verdict verdict;
  verdict.word = VerdictWord::good;
  verdict.expected_error = 0.12;
  verdict.low = 0.08;
  verdict.high = 0.17;
  EXPECT_EQ(first_line(verdict), "good: expected error 12 % of the contrast (8 to 17 %)");
}

/// 100 patterns of 32 x 32 pixels.
Scan sample_scan() {
  SimulateOptions options;
  options.pattern_size = 32;
  options.frames = 100;
  options.probe_diameter_px = 12;
  options.step_px = 3;
  options.photons = 1e5;
  return simulate(options);
}

Verdict verdict_on(const Scan& scan) {
  const AutomaticResult result = solve_automatically(scan, {});
  return judge(scan, result.image, judge_options(result));
}

/// The verdict on the automatic chain's image, which is good and foretells the error.
Verdict expect_good_within_a_factor_of_two(const Scan& scan) {
  const AutomaticResult result = solve_automatically(scan, {});
  Verdict verdict = judge(scan, result.image, judge_options(result));
  const double error = truth_error(scan.truth(), result.image)->error.nrmse_contrast;
  EXPECT_EQ(verdict.word, VerdictWord::good);
  EXPECT_LT(error, 2 * verdict.expected_error);
  EXPECT_GT(error, verdict.expected_error / 2);
  return verdict;
}

TEST(Verdict, ForetellsTheErrorOfAGoodImageWithinAFactorOfTwo) {
  const Verdict verdict = expect_good_within_a_factor_of_two(sample_scan());
  EXPECT_EQ(verdict.evidence.told_of, "patterns that were set apart until the last passes");
  EXPECT_EQ(verdict.map.size(0), verdict.window.rows());
}

TEST(Verdict, FailsNoise) {
  const Scan scan = sample_scan();
  ScanFields fields = scan.fields();
  const double mean = scan.counts().to(at::kDouble).mean().item<double>();
  const at::Tensor means = at::full(scan.counts().sizes(), mean, at::kDouble);
  fields.counts =
      poisson_draws(means, at::arange(scan.frames(), at::kLong), 3, Purpose::noise).to(at::kInt);
  EXPECT_EQ(verdict_on(Scan(fields)).word, VerdictWord::failed);
}

TEST(Verdict, FailsPatternsInAnotherOrder) {
  const Scan scan = sample_scan();
  const std::vector<std::int64_t> order =
      permutation(scan.frames(), RandomStream(5, Purpose::positions));
  const Verdict verdict = verdict_on(
      scan.with_positions(scan.positions().index_select(0, at::tensor(order, at::kLong))));
  EXPECT_EQ(verdict.word, VerdictWord::failed);
  EXPECT_FALSE(verdict.reasons.empty());
}

TEST(VerdictSlow, AnImageThatHalfTheDetectorHasMadeIsAtBestDoubtfulAndSaysWhy) {
  ScanFields fields = sample_scan().fields();
  fields.mask = fields.mask.clone();
  fields.mask.slice(0, 0, fields.mask.size(0) / 2).fill_(false);
  const Verdict verdict = verdict_on(Scan(fields));
  EXPECT_NE(verdict.word, VerdictWord::good);
  EXPECT_TRUE(std::ranges::any_of(verdict.reasons, [](const std::string& reason) {
    return reason.find("opposite to pixels that are hidden") != std::string::npos;
  }));
}

TEST(VerdictSlow, AddsTheDistanceFromAConvergedImage) {
  const Scan scan = sample_scan();
  const auto verdict_after = [&](std::int64_t passes) {
    SolverOptions options{.chain = {{"ml", passes}}};
    const Reconstruction image = solve(scan, {}, options).image;
    return judge(scan, image, {.solver = options, .converged = false});
  };
  const Verdict few = verdict_after(2), many = verdict_after(40);
  EXPECT_GT(few.evidence.beside, 2 * many.evidence.beside);
  EXPECT_GT(few.expected_error, many.expected_error);
}

TEST(VerdictRule, BelievesAnotherStartNoMoreThanRedrawnPatternsWhereNoiseHidesThem) {
  VerdictEvidence evidence{
      .starts = 0.7, .again = 0.1, .misfit = -0.1, .told = 0.9, .told_again = 0.9};
  EXPECT_GT(expected_error(evidence), 0.3);
  evidence.told = evidence.told_again = 0.2;
  const Verdict verdict = verdict_of(evidence);
  EXPECT_EQ(verdict.word, VerdictWord::doubtful);
  EXPECT_NE(verdict.reasons.at(0).find("another start"), std::string::npos);
  evidence.starts = 0.1;
  const double as_far = expected_error(evidence);
  evidence.starts = 0.7;
  EXPECT_EQ(expected_error(evidence), as_far);
  evidence.again = 0.6;
  EXPECT_EQ(verdict_of(evidence).word, VerdictWord::failed);
  EXPECT_NE(verdict_of(evidence).reasons.at(0).find("redrawn"), std::string::npos);
}

// A crystal under a lens in focus, as electron microscopes scan it. Of a part of 128 patterns
// nearly all would be rim: .29 was expected where the error was .05.
TEST(VerdictSlow, OfAScanInSmallStepsForetellsItsErrorWithinAFactorOfTwo) {
  const Verdict verdict = expect_good_within_a_factor_of_two(simulate({.object = "crystal",
                                                                       .scan = "raster",
                                                                       .pattern_size = 32,
                                                                       .frames = 900,
                                                                       .step_px = 1.5,
                                                                       .photons = 1e4,
                                                                       .amplitude_min = 0.9,
                                                                       .defocus = 0,
                                                                       .seed = 3}));
  EXPECT_GT(verdict.patterns, 300);
}

TEST(VerdictSlow, OfALargeScanIsTakenFromAPartOfIt) {
  SimulateOptions options{.pattern_size = 32, .frames = 200, .step_px = 5, .photons = 1e4};
  const Scan scan = simulate(options);
  const SolverOptions solver{.chain = {{"lbfgs", 3}}};
  EXPECT_EQ(judge(scan, solve(scan, {}, solver).image, {.solver = solver}).patterns, 128);
}

at::Tensor raster(std::int64_t side, double step_px) {
  return scan_positions({.kind = "raster", .frames = side * side, .step_px = step_px});
}

TEST(JudgedPatterns, OfALargeScanAreAPartOfIt) {
  const at::Tensor wide = raster(11, 8);
  EXPECT_EQ(judged_patterns(64, wide), 128);
  EXPECT_EQ(judged_patterns(128, wide), 64);
  EXPECT_EQ(judged_patterns(1024, wide), 64);
  EXPECT_EQ(judged_patterns(64, at::empty({0, 2}, at::kDouble)), 128);
}

TEST(JudgedPatterns, OfAScanInSmallStepsAreMoreOfIt) {
  EXPECT_EQ(judged_patterns(64, raster(11, 2)), 256);
  EXPECT_EQ(judged_patterns(64, raster(11, 1)), 4 * 128);
  EXPECT_EQ(judged_patterns(256, raster(8, 2)), 4 * 64);
  EXPECT_EQ(judged_patterns(64, raster(11, 8).repeat({2, 1})), 128);
}

}  // namespace
}  // namespace ptyche
