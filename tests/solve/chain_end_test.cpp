// How chains begin and end: starts that are no image, divergence, plateaus, checkpoints and what a
// user asked for in vain.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>

#include "ptyche/core/error.h"
#include "ptyche/evaluate/data_fit.h"
#include "ptyche/solve/projection.h"
#include "ptyche/solve/solve.h"
#include "ptyche/solve/solver.h"
#include "ptyche/solve/solver_state.h"
#include "ptyche/stitch/stitch.h"
#include "tests/support/plain_solver.h"
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
  refused([&](Reconstruction& start) { start.object[3][4] = nan; });
  refused([&](Reconstruction& start) { start.probe = start.probe * nan; });
  refused([](Reconstruction& start) { start.probe = at::zeros_like(start.probe); });
  refused([](Reconstruction& start) { start.object = start.object * 1e30; });
}

TEST(ChainEnd, InAFirstPassThatDivergesFromAFlatObjectLeavesNoImage) {
  SolverOptions wild = plain({{"ml", 3}});
  wild.object_step = 1e10;
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
    options.plateau = 1;
    const SolveResult result = solve(small_scan(), {}, options);
    EXPECT_EQ(result.image.loss.size(), expected.passes) << expected.solver;
    EXPECT_EQ(result.end, ChainEnd::done) << expected.solver;
  }
}

TEST(ChainEnd, WithAScheduleThatWasShortenedStillFits) {
  const Scan scan = small_scan();
  SolverOptions options = plain({{"ml", 400}});
  options.plateau = 0.3;
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

TEST_F(ResumedChain, KeepsTheLooksThatWereTakenBeforeAndItsClock) {
  SolverOptions options = plain({{"ml", 6}});
  options.every = 1;
  const std::vector<SolverLook> looks = stopped_and_resumed(options).looks;
  ASSERT_EQ(looks.size(), 6u);
  for (std::size_t i = 0; i < looks.size(); ++i) {
    EXPECT_EQ(looks[i].epoch, static_cast<std::int64_t>(i) + 1);
    EXPECT_GT(looks[i].seconds, i == 0 ? 0 : looks[i - 1].seconds);
  }
}

TEST_F(ResumedChain, WithMomentumEndsWhereTheUninterruptedOneEnds) {
  SolverOptions options = plain({{"rpie", 6}});
  options.momentum = 0.6;
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
    options.momentum = 0;
    EXPECT_TRUE(at::equal(solve(scan, {}, options).image.object, plainly.object)) << solver;
    options.momentum = 0.5;
    const Reconstruction carried = solve(scan, {}, options).image;
    EXPECT_FALSE(at::allclose(carried.object, plainly.object, 1e-3, 1e-3)) << solver;
    EXPECT_LT(r_factor(carried, scan), 0.3 * r_factor(flat(scan), scan)) << solver;
  }
}

TEST(IgnoredOptions, AreNamedWithTheSolversThatDoNotLookAtThem) {
  SolverOptions options = plain({{"dm", 5}, {"ml", 5}, {"epie", 2}, {"dm", 3}});
  options.batch = SolverOptions().batch;
  EXPECT_TRUE(ignored_options(options).empty());
  options.likelihood = LossKind::poisson;
  options.engine = Engine::reference;
  options.batch = 5;
  options.object_step = options.probe_step = options.object_slope = 0.01;
  EXPECT_EQ(
      ignored_options(options),
      (std::vector<std::string>{
          "epie: --likelihood, --engine, --batch, --object-step, --probe-step, --object-slope",
          "dm: --likelihood, --engine, --batch, --object-step, --probe-step, --object-slope"}));
}

TEST(IgnoredOptions, AreFewerWherePositionsOrBackgroundFollowTheLikelihood) {
  SolverOptions options = plain({{"raar", 5}});
  options.likelihood = LossKind::poisson;
  options.momentum = 0.3;
  EXPECT_EQ(ignored_options(options), (std::vector<std::string>{"raar: --likelihood, --batch, "
                                                                "--momentum"}));
  options.background = true;
  EXPECT_EQ(ignored_options(options), std::vector<std::string>{"raar: --momentum"});
}

TEST(Canvas, ThatAPatchLeavesIsRefusedInTheSameWordsByEverySolver) {
  const Scan scan = small_scan();
  for (const Interpolation way : {Interpolation::bilinear, Interpolation::probe_fourier}) {
    SolverOptions options = plain({{"rpie", 1}});
    options.interpolation = way;
    const SolverProblem problem = make_problem(scan, options);
    SolverState state = start_state(problem, {});
    state.moves[2][1] = 500;
    const auto words = [](const std::function<void()>& work) -> std::string {
      try {
        work();
      } catch (const InvalidInput& error) {
        return error.what();
      }
      return "";
    };
    const at::Tensor all = at::arange(problem.patterns(), at::kLong);
    Projection projection(false, 4);
    const std::string kernels = words([&] { projection.enter(problem, state); });
    const std::string gradients = words([&] { whole_corners(problem, state, all); });
    EXPECT_TRUE(kernels.starts_with("pattern 2: its patch, rows ")) << kernels;
    EXPECT_TRUE(gradients.starts_with("pattern 2: its patch, rows ")) << gradients;
  }
}

}  // namespace
}  // namespace ptyche
