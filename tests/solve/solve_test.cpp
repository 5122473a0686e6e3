#include "ptyche/solve/solve.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "ptyche/core/error.h"
#include "ptyche/evaluate/evaluate.h"
#include "ptyche/solve/problem.h"
#include "ptyche/stitch/stitch.h"
#include "tests/support/plain_solver.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

class EverySolver : public testing::TestWithParam<std::string> {};

TEST_P(EverySolver, ExplainsTheCountsFarBetterThanTheFlatObject) {
  const Scan scan = small_scan();
  const SolveResult result = solve(scan, {}, plain({{GetParam(), 20}}));
  EXPECT_EQ(result.end, ChainEnd::done);
  EXPECT_LT(r_factor(result.image, scan), 0.3 * r_factor(flat(scan), scan));
}

TEST_P(EverySolver, SeesNothingOfWhatIsMaskedOrHeldOut) {
  const Scan scan = small_scan();
  at::Tensor mask = at::ones({16, 16}, at::kBool), use = at::zeros({scan.frames()}, at::kByte);
  mask[3][5] = false;
  use[7] = static_cast<int>(FrameUse::held_out);
  at::Tensor counts = scan.counts().clone();
  counts.select(1, 3).select(1, 5).fill_(1000);
  counts[7].fill_(50);
  const auto run = [&](const at::Tensor& measured) {
    ScanFields fields = scan.fields();
    fields.counts = measured;
    fields.mask = mask;
    fields.frame_use = use;
    return solve(Scan(fields), {}, plain({{GetParam(), 3}})).image.object;
  };
  EXPECT_TRUE(at::equal(run(counts), run(scan.counts())));
}

TEST_P(EverySolver, GoesOnFromAGivenImage) {
  const Scan scan = small_scan();
  const Reconstruction good = solve(scan, {}, plain({{"ml", 30}})).image;
  const SolveResult result = solve(scan, good, plain({{GetParam(), 5}}));
  EXPECT_LT(r_factor(result.image, scan), 0.3 * r_factor(flat(scan), scan));
}

TEST_P(EverySolver, RefusesAMaskThatHidesAllLight) {
  const Scan scan = small_scan();
  ScanFields fields = scan.fields();
  fields.mask = at::zeros({16, 16}, at::kBool);
  fields.mask[0][0] = true;
  fields.counts = scan.counts().clone();
  fields.counts.select(1, 0).select(1, 0).zero_();
  EXPECT_THROW(solve(Scan(fields), {}, plain({{GetParam(), 2}})), InvalidInput);
}

TEST_P(EverySolver, BringsJitteredPositionsNearerToTheTrueOnes) {
  const Scan scan = small_scan();
  const at::Tensor k = at::arange(scan.frames(), at::kDouble);
  const at::Tensor errors = 0.4 * at::stack({(2.3 * k).sin(), (3.1 * k).cos()}, 1);
  const SolverOptions options = plain({{GetParam(), 60}}, PositionFreedom::jitter);
  const Reconstruction image =
      solve(scan.with_positions(scan.positions() + errors), {}, options).image;
  const auto spread = [](const at::Tensor& error) {
    return (error - error.mean(0)).norm().item<double>();
  };
  EXPECT_LT(spread(image.positions - scan.positions()), 0.8 * spread(errors));
}

TEST_P(EverySolver, KeepsTheObjectBelowALargestAmplitude) {
  SolverOptions options = plain({{GetParam(), 5}});
  options.max_amplitude = 0.7;
  const SolveResult result = solve(small_scan(), {}, options);
  const at::Tensor lit = result.image.projection().masked_select(result.image.coverage.gt(0.1));
  EXPECT_LT(lit.abs().max().item<float>(), 0.701);
}

TEST_P(EverySolver, FitsAsWellAsALimitThatTheObjectKeepsAllows) {
  SolverOptions free = plain({{GetParam(), 20}}), limited = free;
  limited.max_amplitude = 1.02;  // the object's largest is 1
  limited.probe_support = 1;
  const Scan scan = small_scan();
  const double bound = solve(scan, {}, limited).image.loss.back();
  EXPECT_LT(bound, 1.5 * solve(scan, {}, free).image.loss.back() + 1e-3);
}

TEST_P(EverySolver, KeepsAFixedProbeWhateverModesAreAskedFor) {
  SolverOptions options = plain({{GetParam(), 12}});
  options.fixed_probe = true;
  options.modes = 3;
  const Scan scan = small_scan();
  EXPECT_EQ(solve(scan, {}, options).image.modes(), scan.probe().size(0));
}

TEST_P(EverySolver, KeepsTheModesOfItsStart) {
  SolverOptions options = plain({{GetParam(), 2}});
  options.fixed_probe = false;
  options.modes = 3;
  const Scan scan = small_scan();
  const Reconstruction start = solve(scan, {}, options).image;
  options.modes = 1;
  EXPECT_EQ(solve(scan, start, options).image.modes(), 3);
}

INSTANTIATE_TEST_SUITE_P(Registry, EverySolver, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const SolverEntry& entry : solvers()) names.push_back(entry.name);
                           return names;
                         }()),
                         [](const auto& info) { return info.param; });

TEST(Chain, IsReadFromTextAndWrittenBack) {
  EXPECT_EQ(to_string(chain_from("lsqml:20,ml:40")), "lsqml:20,ml:40");
  for (const char* text : {"", "ml", "ml:", "ml:0", "ml:x", "ml:5,", ":5", "unknown:5", "ml:-1"})
    EXPECT_THROW(chain_from(text), InvalidInput) << text;
}

TEST(Chain, RunsEveryLinkAndCountsItsPasses) {
  const SolveResult result = solve(small_scan(), {}, plain({{"lsqml", 4}, {"ml", 3}}));
  EXPECT_EQ(result.image.loss.size(), 7u);
}

TEST(Chain, GivesTheSameImageTwice) {
  const Scan scan = small_scan();
  const auto options = plain({{"ml", 5}});
  EXPECT_TRUE(
      at::equal(solve(scan, {}, options).image.object, solve(scan, {}, options).image.object));
}

TEST(Chain, EndsOnAPlateau) {
  SolverOptions options = plain({{"lbfgs", 2000}});
  set_option(options, "plateau", "0.2");
  EXPECT_LT(solve(small_scan(), {}, options).image.loss.size(), 1000u);
}

TEST(Chain, ThatDivergesKeepsItsBestState) {
  const Scan scan = small_scan();
  const Reconstruction good = solve(scan, {}, plain({{"ml", 30}})).image;
  SolverOptions wild = plain({{"ml", 30}});
  set_option(wild, "object-step", "1e6");
  const SolveResult result = solve(scan, good, wild);
  EXPECT_EQ(result.end, ChainEnd::diverged);
  EXPECT_TRUE(at::isfinite(at::view_as_real(result.image.object)).all().item<bool>());
  EXPECT_LT(r_factor(result.image, scan), 0.3 * r_factor(flat(scan), scan));
}

TEST(Chain, RefusesAStartOfAnotherPatternSizeWithBothSizes) {
  Reconstruction start = flat(small_scan());
  start.probe = at::ones({1, 1, 32, 32}, at::kComplexFloat);
  try {
    solve(small_scan(), start, plain({{"ml", 1}}));
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find("32 x 32"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("16 x 16"), std::string::npos);
  }
}

TEST(Chain, KeepsPositionsThatRunAwayOnItsCanvas) {
  const Scan scan = small_scan();
  for (const char* solver : {"ml", "lsqml", "lbfgs", "rpie", "raar"}) {
    SolverOptions options = plain({{solver, 20}}, PositionFreedom::affine);
    set_where_known(options, "position-step", "10");
    const Reconstruction image = solve(scan, {}, options).image;
    EXPECT_TRUE(at::isfinite(image.positions).all().item<bool>()) << solver;
    const auto room = static_cast<double>(make_problem(scan, options).room_px);
    EXPECT_LE((image.positions - scan.positions()).abs().max().item<double>(), room + 1e-9)
        << solver;
  }
}

TEST(Chain, RefusesAPositionWhosePatchLeavesTheCanvas) {
  const Scan scan = small_scan();
  const SolverProblem problem = make_problem(scan, plain({{"ml", 1}}));
  SolverState state = start_state(problem, {});
  state.position_corrections[2][0] = 500;
  EXPECT_THROW(gradient(problem, state, at::arange(4)), InvalidInput);
}

TEST(Chain, RefusesOptionsOutOfRange) {
  for (const auto& spoil : std::vector<void (*)(SolverOptions&)>{
           [](SolverOptions& o) { set_option(o, "batch", "0"); },
           [](SolverOptions& o) { o.modes = 0; },
           [](SolverOptions& o) { set_option(o, "object-step", "-1"); },
           [](SolverOptions& o) { o.chain = {}; },
           [](SolverOptions& o) { set_option(o, "momentum", "1"); }}) {
    SolverOptions options = plain({{"ml", 1}, {"lsqml", 1}});
    EXPECT_THROW((spoil(options), solve(small_scan(), {}, options)), InvalidInput);
  }
}

class Resume : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                  ("ptyche solve " + std::to_string(getpid()) + GetParam());

  /// Three passes, stopped after the first; resumed with the same watch.
  SolverWatch stopped_after_one_pass(const Scan& scan) const {
    const SolverWatch watch{.stop = [](std::int64_t passes) { return passes == 1; },
                            .checkpoint = folder_ / "checkpoint.h5",
                            .resume = true};
    EXPECT_EQ(solve(scan, {}, plain({{GetParam(), 3}}), watch).end, ChainEnd::interrupted);
    return watch;
  }
};

TEST_P(Resume, InTheMiddleOfAChainEndsWhereTheUninterruptedChainEnds) {
  const Scan scan = small_scan();
  SolverOptions options = plain({{"ml", 4}, {GetParam(), 6}}, PositionFreedom::jitter, true);
  options.fixed_probe = false;
  options.modes = 2;
  const Reconstruction straight = solve(scan, {}, options).image;
  const std::filesystem::path file = folder_ / "checkpoint.h5";
  std::int64_t stop_at = 7;
  const SolverWatch watch{.stop = [&](std::int64_t passes) { return passes == stop_at; },
                          .checkpoint = file,
                          .resume = true};
  ASSERT_EQ(solve(scan, {}, options, watch).end, ChainEnd::interrupted);
  stop_at = -1;
  const SolveResult resumed = solve(scan, {}, options, watch);
  EXPECT_EQ(resumed.end, ChainEnd::done);
  EXPECT_TRUE(at::equal(resumed.image.object, straight.object));
  EXPECT_TRUE(at::equal(resumed.image.probe, straight.probe));
  EXPECT_TRUE(at::equal(resumed.image.positions, straight.positions));
  EXPECT_EQ(resumed.image.loss, straight.loss);
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_P(Resume, FromTheCheckpointOfOtherPositionsIsRefused) {
  const Scan scan = small_scan();
  const SolverWatch watch = stopped_after_one_pass(scan);
  const Scan mirrored = scan.with_positions(scan.positions().flip(1));
  EXPECT_THROW(solve(mirrored, {}, plain({{GetParam(), 3}}), watch), InvalidInput);
}

TEST_P(Resume, FromTheCheckpointOfOtherOptionsIsRefused) {
  const Scan scan = small_scan();
  const SolverWatch watch = stopped_after_one_pass(scan);
  EXPECT_THROW(solve(scan, {}, plain({{GetParam(), 4}}), watch), InvalidInput);
}

INSTANTIATE_TEST_SUITE_P(Registry, Resume, testing::Values("ml", "lsqml", "lbfgs", "rpie", "dm"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace ptyche
