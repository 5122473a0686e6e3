// How chains begin and end: starts that are no image, divergence, plateaus, checkpoints and what a
// user asked for in vain.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>

#include "ptyche/core/error.h"
#include "ptyche/evaluate/evaluate.h"
#include "ptyche/solve/problem.h"
#include "ptyche/solve/projection_kernels.h"
#include "ptyche/solve/solve.h"
#include "ptyche/solve/solver.h"
#include "ptyche/stitch/stitch.h"
#include "tests/support/plain_solver.h"
#include "tests/support/refusal.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

TEST(ChainStart, ThatIsNotFiniteOrHasNoLightIsRefused) {
  const Scan scan = small_scan();
  const auto refused = [&](const std::function<void(Reconstruction&)>& spoil) {
    Reconstruction start = flat(scan);
    start.object = start.object.clone();
    spoil(start);
    EXPECT_THROW(solve(scan, start, plain({{"ml", 2}})), InvalidInput);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  refused([&](Reconstruction& start) { start.object[0][3][4] = nan; });
  refused([&](Reconstruction& start) { start.probe = start.probe * nan; });
  refused([](Reconstruction& start) { start.probe = at::zeros_like(start.probe); });
  refused([](Reconstruction& start) { start.object = start.object * 1e30; });
}

TEST(ChainEnd, InAFirstPassThatDivergesFromAFlatObjectLeavesNoImage) {
  SolverOptions wild = plain({{"ml", 3}});
  set_option(wild, "object-step", "1e10");
  EXPECT_THROW(solve(small_scan(), {}, wild), InvalidInput);
}

/// Of 100 passes asked for, with ten passes that never gain enough.
struct Plateau {
  const char* solver;
  std::size_t passes;
};

TEST(ChainEnd, OnAPlateauIsTheLinksEndOrItsShorterStepsOrNothing) {
  // 20 passes, half of the 80 left, 20 more, half of the 20 left, the last ten.
  constexpr std::size_t kSkipping = 50;
  for (const Plateau& expected : std::vector<Plateau>{{"lsqml", 20},
                                                      {"lbfgs", 20},
                                                      {"ml", kSkipping},
                                                      {"epie", kSkipping},
                                                      {"rpie", kSkipping},
                                                      {"dm", 100},
                                                      {"raar", 100}}) {
    SolverOptions options = plain({{expected.solver, 100}});
    set_where_known(options, "plateau", "1");
    const SolveResult result = solve(small_scan(), {}, options);
    EXPECT_EQ(result.image.loss.size(), expected.passes) << expected.solver;
    EXPECT_EQ(result.end, ChainEnd::done) << expected.solver;
  }
}

TEST(ChainEnd, WithAScheduleThatWasShortenedStillFits) {
  const Scan scan = small_scan();
  SolverOptions options = plain({{"ml", 400}});
  set_option(options, "plateau", "0.3");
  const SolveResult result = solve(scan, {}, options);
  EXPECT_LT(result.image.loss.size(), 400u);
  EXPECT_LT(r_factor(result.image, scan), 0.2 * r_factor(flat(scan), scan));
}

TEST(Checkpoint, ThatCannotBeWrittenDoesNotLoseTheImage) {
  const Scan scan = small_scan();
  const SolveResult result = solve(scan, {}, plain({{"ml", 20}}),
                                   {.stop = [](std::int64_t passes) { return passes == 12; },
                                    .checkpoint = "/nonexistent folder/checkpoint.h5"});
  EXPECT_EQ(result.end, ChainEnd::interrupted);
  EXPECT_EQ(result.image.loss.size(), 12u);
  EXPECT_LT(r_factor(result.image, scan), 0.5 * r_factor(flat(scan), scan));
}

class ResumedChain : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Stopped after three of its passes and resumed.
  SolveResult stopped_and_resumed(const SolverOptions& options) const {
    SolverWatch watch{.stop = [](std::int64_t passes) { return passes == 3; },
                      .checkpoint = folder_ / "checkpoint.h5",
                      .resume = true};
    EXPECT_EQ(solve(small_scan(), {}, options, watch).end, ChainEnd::interrupted);
    watch.stop = {};
    return solve(small_scan(), {}, options, watch);
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("ptyche chain " + std::to_string(getpid()));
};

TEST_F(ResumedChain, KeepsTheEvaluationsThatWereMadeBeforeAndItsClock) {
  SolverOptions options = plain({{"ml", 6}});
  options.every = 1;
  const std::vector<Evaluation> all = stopped_and_resumed(options).evaluations;
  ASSERT_EQ(all.size(), 6u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].epoch, static_cast<std::int64_t>(i) + 1);
    EXPECT_GT(all[i].seconds, i == 0 ? 0 : all[i - 1].seconds);
  }
}

TEST_F(ResumedChain, WithMomentumEndsWhereTheUninterruptedOneEnds) {
  SolverOptions options = plain({{"rpie", 6}});
  set_option(options, "momentum", "0.6");
  options.fixed_probe = false;
  const Reconstruction straight = solve(small_scan(), {}, options).image;
  const Reconstruction resumed = stopped_and_resumed(options).image;
  EXPECT_TRUE(at::equal(resumed.object, straight.object));
  EXPECT_TRUE(at::equal(resumed.probe, straight.probe));
}

TEST_F(ResumedChain, StartsAnewAndSaysSoWhereThereIsNoCheckpoint) {
  testing::internal::CaptureStderr();
  const SolveResult result = solve(small_scan(), {}, plain({{"ml", 2}}),
                                   {.checkpoint = folder_ / "checkpoint.h5", .resume = true});
  EXPECT_NE(testing::internal::GetCapturedStderr().find("start anew"), std::string::npos);
  EXPECT_EQ(result.image.loss.size(), 2u);
}

TEST(Momentum, OfThePieSolversChangesThePathAndStillConverges) {
  const Scan scan = small_scan();
  for (const char* solver : {"epie", "rpie"}) {
    SolverOptions options = plain({{solver, 20}});
    options.fixed_probe = false;
    const Reconstruction plainly = solve(scan, {}, options).image;
    set_option(options, "momentum", "0");
    EXPECT_TRUE(at::equal(solve(scan, {}, options).image.object, plainly.object)) << solver;
    set_option(options, "momentum", "0.5");
    const Reconstruction carried = solve(scan, {}, options).image;
    EXPECT_FALSE(at::allclose(carried.object, plainly.object, 1e-3, 1e-3)) << solver;
    EXPECT_LT(r_factor(carried, scan), 0.3 * r_factor(flat(scan), scan)) << solver;
  }
}

TEST(SolverOption, GoesToEverySolverOfTheChainThatHasIt) {
  SolverOptions options = plain({{"dm", 5}, {"lsqml", 5}, {"epie", 2}});
  set_option(options, "momentum", "0.3");
  for (std::size_t link : {1, 2}) {
    const std::vector<Field> own = fields(options.chain[link], options);
    EXPECT_EQ(value_text(*find_field(own, "momentum")), "0.3");
  }
}

TEST(SolverOption, ThatNoSolverOfTheChainLooksAtIsRefusedWithThoseThatDo) {
  SolverOptions options = plain({{"dm", 5}, {"epie", 2}});
  EXPECT_EQ(message_of([&] { set_option(options, "object-slope", "0.1"); }),
            "--object-slope: no solver of dm:5,epie:2 looks at it; it is an option of ml, lbfgs");
  const std::string batch = message_of([&] { set_option(options, "batch", "5"); });
  EXPECT_NE(batch.find("looks at it unless positions or a background are refined; it is an option "
                       "of ml, lsqml, epie, rpie, dm, raar"),
            std::string::npos)
      << batch;
  options.background = true;
  EXPECT_EQ(message_of([&] { set_option(options, "batch", "5"); }), "");
  EXPECT_NE(message_of([&] { set_option(options, "speed", "5"); }).find("no solver's option"),
            std::string::npos);
}

TEST(SolverOption, ThatIsSetWhereItIsLookedAtLeavesTheOtherSolversAlone) {
  SolverOptions options = plain({{"dm", 5}, {"lbfgs", 2}});
  const Key before = key_of(options);
  set_if_looked_at(options, "momentum", 0.25);
  EXPECT_EQ(key_of(options), before);
  set_if_looked_at(options, "object-slope", 0.25);
  const std::vector<Field> own = fields(options.chain[1], options);
  EXPECT_EQ(value_text(*find_field(own, "object-slope")), "0.25");
}

TEST(SolverOption, OutOfItsRangeIsRefusedByNameWhicheverSolverHasIt) {
  for (const SolverEntry& entry : solvers()) {
    SolverOptions options = plain({{entry.name, 2}}, PositionFreedom::affine, true);
    for (const Field& field : fields(options.chain[0], options)) {
      if (!std::isfinite(field.range.low)) continue;
      const std::string low = fmt::format("{}", field.range.low - 1);
      EXPECT_NE(message_of([&] { assign(field, low); }).find("--" + field.name), std::string::npos)
          << entry.name;
    }
  }
}

/// Another value than the present one that the field takes; nothing for the chain.
std::string other_value(const Field& field) {
  const std::string now = value_text(field);
  for (const std::string& word : choices_of(field))
    if (word != now) return word;
  if (std::holds_alternative<bool*>(field.target)) return now == "true" ? "false" : "true";
  const bool real = std::holds_alternative<double*>(field.target);
  for (const char* number : {real ? "0.5" : "1", real ? "0.25" : "2"})
    if (number != now) return number;
  return "";
}

TEST(ResumeKey, ChangesWithEveryFieldThatAffectsTheResultAndNoOther) {
  const auto judge = [](SolverOptions& options, const Field& field) {
    const Key before = key_of(options);
    const std::string value = value_text(field);
    assign(field, field.name == "solver" ? value + ",ml:7" : other_value(field));
    EXPECT_EQ(key_of(options) != before, field.affects_result) << field.name;
    assign(field, value);
  };
  for (const SolverEntry& entry : solvers()) {
    SolverOptions options = plain({{entry.name, 5}}, PositionFreedom::affine, true);
    for (const Field& field : fields(options.chain[0], options)) judge(options, field);
    for (const Field& field : fields(options)) judge(options, field);
  }
}

TEST(ResumeKey, NamesWhatDiffersWithBothValues) {
  SolverOptions now = plain({{"lsqml", 5}, {"rpie", 5}}), then = now;
  EXPECT_TRUE(differences(key_of(now), key_of(then)).empty());
  set_option(then, "momentum", "0.2");
  set_option(then, "engine", "reference");
  EXPECT_EQ(differences(key_of(now), key_of(then)),
            (std::vector<std::string>{"engine is fused and was reference",
                                      "momentum is lsqml 0.5, rpie 0 and was 0.2"}));
}

TEST_F(ResumedChain, OfAnotherEngineIsRefusedByName) {
  SolverOptions options = plain({{"ml", 6}});
  SolverWatch watch{.stop = [](std::int64_t passes) { return passes == 3; },
                    .checkpoint = folder_ / "checkpoint.h5",
                    .resume = true};
  solve(small_scan(), {}, options, watch);
  set_option(options, "engine", "reference");
  const std::string refused = message_of([&] { solve(small_scan(), {}, options, watch); });
  EXPECT_NE(refused.find("engine is reference and was fused"), std::string::npos) << refused;
}

TEST(Canvas, ThatAPatchLeavesIsRefusedInTheSameWordsByEverySolver) {
  const Scan scan = small_scan();
  for (const Interpolation way : {Interpolation::bilinear, Interpolation::probe_fourier}) {
    SolverOptions options = plain({{"rpie", 1}});
    options.interpolation = way;
    const SolverProblem problem = make_problem(scan, options);
    SolverState state = start_state(problem, {});
    state.position_corrections[2][1] = 500;
    const at::Tensor all = at::arange(problem.patterns(), at::kLong);
    ProjectionKernels projection(false, 4);
    const std::string kernels = message_of([&] { projection.load(problem, state); });
    const std::string gradients = message_of([&] { whole_corners(problem, state, all); });
    EXPECT_TRUE(kernels.starts_with("pattern 2: its patch, rows ")) << kernels;
    EXPECT_TRUE(gradients.starts_with("pattern 2: its patch, rows ")) << gradients;
  }
}

}  // namespace
}  // namespace ptyche
