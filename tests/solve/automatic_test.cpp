// The chain that chooses by itself.
#include "ptyche/solve/automatic.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ptyche/data/probe.h"
#include "ptyche/evaluate/compare.h"
#include "ptyche/simulate/simulate.h"
#include "ptyche/solve/illumination.h"
#include "ptyche/solve/problem.h"
#include "ptyche/solve/solve.h"
#include "tests/support/plain_solver.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

bool tried(const AutomaticResult& result, const std::string& what) {
  return std::ranges::any_of(result.attempts,
                             [&](const Attempt& each) { return each.what == what; });
}

Scan with_held_out(const Scan& scan, std::int64_t frame) {
  at::Tensor use = scan.frame_use().clone();
  use[frame] = static_cast<int>(FrameUse::held_out);
  return scan.with_frame_use(use);
}

TEST(Automatic, ExplainsTheCountsFarBetterThanTheFlatObjectAndSaysWhatItKept) {
  const Scan scan = small_scan();
  std::int64_t images = 0;
  const AutomaticResult result =
      solve_automatically(scan, {}, {}, [&](const Reconstruction&) { ++images; });
  EXPECT_EQ(result.end, ChainEnd::done);
  EXPECT_LT(r_factor(result.image, scan), 0.1 * r_factor(flat(scan), scan));
  EXPECT_GE(images, 2);
  EXPECT_TRUE(std::ranges::any_of(result.attempts, &Attempt::kept));
}

TEST(Automatic, GivesTheLossOfEveryPassThatLedToItsImage) {
  const AutomaticResult result = solve_automatically(small_scan(), {});
  std::int64_t passes = 0;
  for (const Attempt& each : result.attempts) passes += each.kept ? each.passes : 0;
  EXPECT_EQ(result.image.loss.size(), passes);
  EXPECT_GT(passes, result.attempts.back().passes);
}

TEST(Automatic, PatternsThatItSetApartComeBackAndThoseOfTheScanDoNot) {
  EXPECT_TRUE(tried(solve_automatically(small_scan(), {}), "with all patterns"));
  EXPECT_FALSE(tried(solve_automatically(with_held_out(small_scan(), 7), {}), "with all patterns"));
}

TEST(Automatic, TakesTheFilesProbeAfterAllWhereAWholeSolveFromItForetellsMore) {
  const Scan right = small_scan(), wrong = right.with_probe(at::conj(right.probe()).resolve_conj());
  const AutomaticResult result = solve_automatically(wrong, {}, {.put_aside = right.probe()});
  EXPECT_TRUE(tried(result, "the file's probe"));
  ASSERT_TRUE(result.first_probe.defined());
  EXPECT_TRUE(at::equal(result.first_probe, right.probe()));
  EXPECT_LT(r_factor(result.image, right), r_factor(solve_automatically(wrong, {}).image, right));
}

TEST(Automatic, LeavesTheFilesProbeAsideWhereItForetellsLess) {
  const Scan right = small_scan();
  const at::Tensor other = at::conj(right.probe()).resolve_conj();
  const AutomaticResult result = solve_automatically(right, {}, {.put_aside = other});
  EXPECT_FALSE(result.first_probe.defined());
}

TEST(Automatic, KeepsAProbeThatIsToBeKept) {
  const Scan scan = small_scan();
  const Reconstruction image = solve_automatically(scan, {}, {.fixed_probe = true}).image;
  EXPECT_EQ(image.modes(), 1);
  EXPECT_TRUE(at::allclose(image.probe, scan.probe(), 1e-4, 1e-3));
}

TEST(Automatic, HoldsTheProbeOnTrialWherePhotonsAreFew) {
  const Scan scan = small_scan();
  ScanFields fields = scan.fields();
  fields.counts = (scan.counts() / 50).round();
  const AutomaticResult result = solve_automatically(Scan(fields), {});
  EXPECT_TRUE(tried(result, "probe held"));
  EXPECT_TRUE(at::isfinite(at::view_as_real(result.image.object)).all().item<bool>());
}

/// Leaves of which no two places are alike.
const Scan& leaves() {
  static const Scan scan = simulate({.pattern_size = 32,
                                     .frames = 100,
                                     .step_px = 3,
                                     .photons = 1e5,
                                     .probe_diameter_px = 12,
                                     .seed = 4});
  return scan;
}

/// The scan with the patterns of some places exchanged.
Scan with_exchanged(const Scan& scan, const at::Tensor& frames) {
  ScanFields fields = scan.fields();
  fields.counts =
      fields.counts.index_copy(0, frames, scan.counts().index_select(0, frames.roll(1)));
  return Scan(fields);
}

/// The scan in light of little coherence: every pattern smeared along its rows.
Scan smeared(const Scan& scan) {
  ScanFields fields = scan.fields();
  const at::Tensor sharp = scan.counts().to(at::kFloat);
  fields.counts = sharp + sharp.roll(4, 2) + sharp.roll(-4, 2);
  return Scan(fields);
}

TEST(Automatic, PhotonsAreFewWhereAWideProbeSpreadsThem) {
  const auto limit = [](std::int64_t size) {
    return few_photons(at::ones({1, size, size}, at::kComplexFloat), /*given=*/true);
  };
  EXPECT_EQ(few_photons(at::ones({1, 80, 80}, at::kComplexFloat), /*given=*/false), 5e3);
  EXPECT_EQ(limit(10), 5e3);
  EXPECT_EQ(limit(20), 5e3);
  EXPECT_NEAR(limit(80) / limit(40), 4, 1e-6);
  const Scan wide =
      simulate({.pattern_size = 128, .frames = 30, .photons = 1e4, .probe_diameter_px = 44});
  EXPECT_TRUE(tried(solve_automatically(wide, {}, {}), "probe held"));
}

TEST(Automatic, SparesTheEdgesOfASampleThatHasThem) {
  const Scan leaves = simulate({.frames = 80, .step_px = 6, .photons = 1e5});
  const AutomaticResult result = solve_automatically(leaves, {}, {});
  const auto edges = std::ranges::find(result.attempts, "prior that spares edges", &Attempt::what);
  ASSERT_NE(edges, result.attempts.end());
  EXPECT_TRUE(edges->kept);
  EXPECT_LT(edges->held_out_deviance, std::prev(edges)->held_out_deviance);
}

TEST(AutomaticSlow, TriesAndKeepsTheSameOnOneThreadAndSideBySideOnSeveral) {
  const int threads = at::get_num_threads();
  const auto on = [&](int number) {
    at::set_num_threads(number);
    AutomaticResult result = solve_automatically(leaves(), {});
    at::set_num_threads(threads);
    return result;
  };
  const AutomaticResult one = on(1), several = on(4);
  ASSERT_EQ(one.attempts.size(), several.attempts.size());
  for (std::size_t i = 0; i < one.attempts.size(); ++i) {
    const Attempt &alone = one.attempts[i], &beside = several.attempts[i];
    EXPECT_EQ(alone.what, beside.what);
    EXPECT_EQ(alone.kept, beside.kept) << alone.what;
    EXPECT_NEAR(beside.held_out_deviance, alone.held_out_deviance, 0.02 * alone.held_out_deviance)
        << alone.what;
  }
}

/// The scan with the upper half of its detector hidden.
Scan with_half_hidden(const Scan& scan) {
  ScanFields fields = scan.fields();
  fields.mask = fields.mask.clone();
  fields.mask.slice(0, 0, scan.pattern_size() / 2).fill_(false);
  return Scan(fields);
}

double distance_from_truth(const Reconstruction& image, const Scan& scan) {
  return truth_error(scan.truth(), image)->error.nrmse_contrast;
}

TEST(AutomaticSlow, WavesOfAPhaseThatHalfTheDetectorHidesComeFromThoseOpposite) {
  const Scan whole = simulate({.object = "random-field",
                               .pattern_size = 32,
                               .frames = 100,
                               .step_px = 3,
                               .photons = 3e5,
                               .amplitude_min = 1,
                               .phase_range_rad = 3,
                               .probe_diameter_px = 12});
  const Scan half = with_half_hidden(whole);
  const AutomaticResult result = solve_automatically(half, {});
  const auto is_tied = [](const Attempt& each) {
    return each.kept && each.what.starts_with("amplitude tied");
  };
  EXPECT_TRUE(std::ranges::any_of(result.attempts, is_tied));
  const Reconstruction other = solve(half, {}, plain({{"rpie", 5}, {"lbfgs", 60}})).image;
  EXPECT_LT(distance_from_truth(result.image, whole), 0.5 * distance_from_truth(other, whole));
}

TEST(Automatic, SeesAWeakSampleByASmootherPriorThanTheUsualOne) {
  const Scan scan = simulate({.object = "random-field",
                              .frames = 144,
                              .photons = 3e4,
                              .amplitude_min = 0.998,
                              .phase_range_rad = 0.06,
                              .seed = 109});
  const AutomaticResult result = solve_automatically(scan, {});
  const Reconstruction usual = solve(scan, {}, plain({{"rpie", 5}, {"lbfgs", 40}})).image;
  EXPECT_GT(distance_from_truth(usual, scan), 1);  // noise
  EXPECT_LT(distance_from_truth(result.image, scan), 0.7);
}

TEST(Automatic, DoesNotTieTheAmplitudeWhereBothSidesAreSeen) {
  const AutomaticResult result = solve_automatically(small_scan(), {});
  EXPECT_TRUE(std::ranges::none_of(result.attempts, [](const Attempt& each) {
    return each.what.starts_with("amplitude tied");
  }));
}

TEST(Automatic, TriesNoMoreFreedomWhereHeldOutPatternsAreExplained) {
  ScanFields fields = leaves().fields();
  fields.counts = (leaves().counts().to(at::kFloat) / 5).round();
  const AutomaticResult result = solve_automatically(Scan(fields), {});
  EXPECT_FALSE(tried(result, "three probe modes"));
  EXPECT_FALSE(tried(result, "modes and positions"));
  EXPECT_FALSE(tried(result, "modes and positions by batches"));
}

TEST(Automatic, TriesBatchesWhereEvenUsedPatternsContradictTheImage) {
  const AutomaticResult result = solve_automatically(smeared(leaves()), {});
  const auto batches =
      std::ranges::find(result.attempts, "modes and positions by batches", &Attempt::what);
  ASSERT_NE(batches, result.attempts.end());
  EXPECT_TRUE(batches->kept);
  EXPECT_LT(batches->held_out_deviance, 0.8 * result.attempts.front().held_out_deviance);
  EXPECT_EQ(result.image.modes(), 3);
  EXPECT_EQ(result.options.positions, PositionFreedom::jitter);
}

TEST(AutomaticSlow, GoesOnFromAnImageThatASolverHasMadeWithoutWaitingUntilItIsStill) {
  const auto from_a_solved_one = [](const Scan& scan) {
    const Reconstruction start = solve(scan, {}, {.chain = {{"rpie", 8}, {"lbfgs", 24}}}).image;
    return solve_automatically(scan, start, {.start_is_solved = true});
  };
  const Scan scan = smeared(leaves());
  const AutomaticResult anew = solve_automatically(scan, {}), result = from_a_solved_one(scan);
  EXPECT_FALSE(tried(result, "until it stands still"));
  EXPECT_TRUE(tried(result, "modes and positions by batches"));
  EXPECT_LT(r_factor(result.image, scan), 1.02 * r_factor(anew.image, scan));
  EXPECT_TRUE(tried(from_a_solved_one(leaves()), "until it stands still"))
      << "where the patterns do not contradict the image, it has to stand still";
}

TEST(Automatic, HoldsInItsLastPassesThePositionsThatItHasFound) {
  Scan scan = smeared(leaves());
  for (std::int64_t frame = 5; frame < scan.frames(); frame += 12)
    scan = with_held_out(scan, frame);  // so that no pattern joins after the last passes
  const AutomaticResult result = solve_automatically(scan, {});
  const auto last = std::ranges::find(result.attempts, "polish", &Attempt::what);
  ASSERT_NE(last, result.attempts.end());
  ASSERT_TRUE(last->kept);
  const at::Tensor moves = (result.image.positions - scan.positions()).abs();
  EXPECT_GT(moves.index_select(0, scan.frames_with(FrameUse::used)).max().item<double>(), 1e-3);
  EXPECT_EQ(moves.index_select(0, scan.frames_with(FrameUse::held_out)).max().item<double>(), 0);
}

TEST(AutomaticSlow, LeavesOutPatternsThatBelongElsewhereAndOnlyThose) {
  const Scan& scan = leaves();
  const at::Tensor wrong = at::tensor({24, 38, 55, 71}, at::kLong);
  const AutomaticResult result = solve_automatically(with_exchanged(scan, wrong), {});
  EXPECT_TRUE(at::equal(result.left_out, wrong)) << result.left_out;
  EXPECT_EQ(result.image.frame_use[38].item<int>(), static_cast<int>(FrameUse::rejected));
  const AutomaticResult right = solve_automatically(scan, {});
  EXPECT_EQ(right.left_out.size(0), 0);
  const Scan rest = scan.with_frame_use(result.image.frame_use);
  EXPECT_LT(r_factor(result.image, rest), 2 * r_factor(right.image, rest));
}

TEST(Automatic, KeepsWhatTheScanHoldsOutThoughItBelongsElsewhere) {
  Scan scan = with_exchanged(leaves(), at::tensor({24, 38, 55, 71}, at::kLong));
  for (const std::int64_t frame : {12, 38, 44, 65}) scan = with_held_out(scan, frame);
  const AutomaticResult result = solve_automatically(scan, {});
  EXPECT_TRUE(at::equal(result.left_out, at::tensor({24, 55, 71}, at::kLong))) << result.left_out;
  EXPECT_EQ(result.image.frame_use[38].item<int>(), static_cast<int>(FrameUse::held_out));
}

TEST(Automatic, SolvesAHandfulOfPatternsWithoutAHoldOut) {
  const Scan scan = small_scan(4);
  const AutomaticResult result = solve_automatically(scan, {});
  EXPECT_EQ(result.end, ChainEnd::done);
  EXPECT_LT(r_factor(result.image, scan), 0.5 * r_factor(flat(scan), scan));
}

/// The small scan with dark pixels around every pattern and probe, `size` wide.
Scan scan_of_size(std::int64_t size) {
  const Scan small = small_scan(9);
  ScanFields fields = small.fields();
  const std::int64_t more = (size - small.pattern_size()) / 2;
  fields.probe = at::constant_pad_nd(small.probe(), {more, more, more, more}).contiguous();
  fields.positions = small.positions() + static_cast<double>(more);
  fields.truth = fields.mask = at::Tensor();
  fields.counts = at::constant_pad_nd(small.counts(), {more, more, more, more}).contiguous();
  return Scan(fields);
}

TEST(Automatic, SolvesPatternsWithALargePrime) {
  const Scan scan = scan_of_size(2 * 67);
  const AutomaticResult result = solve_automatically(scan, {});
  EXPECT_EQ(result.end, ChainEnd::done);
  EXPECT_LT(r_factor(result.image, scan), r_factor(flat(scan), scan));
}

TEST(ImageMovement, IsNoneForAnotherFactorAndGrowsWithTheChange) {
  const SolverProblem problem = make_problem(small_scan(), plain({{"ml", 1}}));
  SolverState state = start_state(problem, {});
  at::manual_seed(3);
  state.object = state.object + 0.1 * at::randn(state.object.sizes(), at::kComplexFloat);
  const at::Tensor turned = state.object * c10::complex<float>(0.6F, 0.8F) * 2;
  EXPECT_NEAR(image_movement(problem, state, turned), 0, 1e-3);
  const at::Tensor noise = at::randn(state.object.sizes(), at::kComplexFloat);
  const double little = image_movement(problem, state, state.object + 0.01 * noise);
  EXPECT_NEAR(little, 0.1, 0.02);
  EXPECT_NEAR(image_movement(problem, state, state.object + 0.02 * noise) / little, 2, 0.1);
}

TEST(Still, LbfgsEndsWhereTheImageHardlyMoves) {
  SolverOptions options = plain({{"lbfgs", 200}});
  set_where_known(options, "still", "0.01");
  const auto passes = solve(small_scan(), {}, options).image.loss.size();
  EXPECT_LT(passes, 100u);
  EXPECT_GE(passes, 10u);
}

}  // namespace
}  // namespace ptyche
