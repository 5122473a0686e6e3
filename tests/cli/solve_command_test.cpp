// `ptyche solve` as a user runs it: what it leaves and says where something goes wrong.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "ptyche/io/product.h"
#include "tests/support/rewritten.h"
#include "tests/support/run_program.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

/// A folder with a small scan and an image of it.
class SolveCommand : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    fs::create_directories(folder());
    const Outcome made = run_ptyche("simulate -o " + quoted("scan.cxi") +
                                    " --N 32 --frames 144 --probe-diameter 12 --step 4");
    ASSERT_EQ(made.code, 0) << made.error;
    const Outcome solved = run_ptyche(solve("good") + "--solver ml:20");
    ASSERT_EQ(solved.code, 0) << solved.error;
  }
  static void TearDownTestSuite() { fs::remove_all(folder()); }

  static fs::path folder() {
    return fs::temp_directory_path() / ("ptyche solve cli " + std::to_string(getpid()));
  }
  static std::string quoted(const std::string& name) {
    return "'" + (folder() / name).string() + "'";
  }
  /// The command that solves the scan into the folder `to`, and a space.
  static std::string solve(const std::string& to) {
    return "solve " + quoted("scan.cxi") + " -o " + quoted(to) + " --threads 1 ";
  }
  static bool is_there(const std::string& name) { return fs::exists(folder() / name); }
  static nlohmann::json scores(const std::string& of) {
    return nlohmann::json::parse(file_bytes((folder() / of / "scores.json").string()));
  }
};

bool says(const Outcome& outcome, const std::string& words) {
  return outcome.error.find(words) != std::string::npos;
}

TEST_F(SolveCommand, RefusesAStartWithNaNAndNamesFileAndDatasetAsEvaluateDoes) {
  at::Tensor object = read_reconstruction(folder() / "good" / "reconstruction.h5").projection();
  object[5][5] = std::numeric_limits<double>::quiet_NaN();
  fs::copy_file(folder() / "good" / "reconstruction.h5", folder() / "nan.h5");
  rewrite(folder() / "nan.h5", {{"object", object}});
  for (const std::string& words : {solve("refused") + "--solver ml:2 --start " + quoted("nan.h5"),
                                   "evaluate " + quoted("nan.h5") + " " + quoted("scan.cxi")}) {
    const Outcome refused = run_ptyche(words);
    EXPECT_EQ(refused.code, 1) << words;
    EXPECT_TRUE(says(refused, "nan.h5: object: expected finite")) << refused.error;
  }
  EXPECT_FALSE(is_there("refused/reconstruction.h5"));
}

TEST_F(SolveCommand, ThatDivergesLeavesItsBestImageAScoreThatSaysSoAndExitCodeOne) {
  const Outcome done = run_ptyche(solve("wild") + "--solver ml:30 --object-step 10 --half-sets " +
                                  "--start " + quoted("good/reconstruction.h5"));
  EXPECT_EQ(done.code, 1);
  EXPECT_TRUE(says(done, "the solver diverged; its best image is kept")) << done.error;
  EXPECT_TRUE(says(done, "no half-set scores")) << done.error;
  EXPECT_TRUE(is_there("wild/reconstruction.h5"));
  EXPECT_TRUE(is_there("wild/progress.csv"));
  EXPECT_TRUE(scores("wild").contains("solver.passes_before_divergence"));
  EXPECT_FALSE(scores("good").contains("solver.passes_before_divergence"));
}

TEST_F(SolveCommand, InterruptedInAHalfSetKeepsTheImageWithoutScoresOfHalves) {
  const Outcome stopped = run_ptyche_and_interrupt(
      solve("stopped") + "--solver ml:300 --plateau 0 --half-sets", "half set: the");
  EXPECT_EQ(stopped.code, 130) << stopped.error;
  EXPECT_TRUE(says(stopped, "stopped during the half sets")) << stopped.error;
  EXPECT_TRUE(is_there("stopped/reconstruction.h5"));
  EXPECT_FALSE(is_there("stopped/half_odd.h5"));
  const nlohmann::json found = scores("stopped");
  EXPECT_FALSE(found.contains("half_sets.frc_half_bit_cycles_per_px"));
  EXPECT_TRUE(found.contains("used.r_factor"));
}

TEST_F(SolveCommand, HalfSetsKnowNothingOfAStart) {
  const std::string chain = "--solver ml:15 --half-sets ";
  const Outcome cold = run_ptyche(solve("cold") + chain);
  const Outcome warm =
      run_ptyche(solve("warm") + chain + "--start " + quoted("good/reconstruction.h5"));
  ASSERT_EQ(cold.code, 0) << cold.error;
  ASSERT_EQ(warm.code, 0) << warm.error;
  EXPECT_TRUE(says(warm, "the half sets begin with a flat object")) << warm.error;
  const auto object = [](const std::string& name) {
    return read_reconstruction(folder() / name).projection();
  };
  EXPECT_TRUE(at::equal(object("cold/half_odd.h5"), object("warm/half_odd.h5")));
  EXPECT_FALSE(at::equal(object("cold/reconstruction.h5"), object("warm/reconstruction.h5")));
}

TEST_F(SolveCommand, HalfSetsThatCannotBeMadeAreRefusedBeforeAnyWork) {
  std::string odd = "1";
  for (int frame = 3; frame < 144; frame += 2) odd += ", " + std::to_string(frame);
  std::ofstream(folder() / "odd.json") << "{\"heldout_indices\": [" << odd << "]}";
  for (const std::string verb : {"solve", "reconstruct"}) {
    const Outcome refused =
        run_ptyche(verb + " " + quoted("scan.cxi") + " -o " + quoted("no halves") +
                   " --half-sets --hold-out-file " + quoted("odd.json"));
    EXPECT_EQ(refused.code, 1) << verb;
    EXPECT_TRUE(says(refused, "half sets: expected at least 2")) << refused.error;
    EXPECT_FALSE(is_there("no halves/reconstruction.h5")) << verb;
    EXPECT_FALSE(is_there("no halves/model.ptyche")) << verb;
  }
}

TEST_F(SolveCommand, WithoutAChainSaysWhatItTriedAndRefusesWhatItChoosesItself) {
  const Outcome done = run_ptyche(solve("auto") + "--hold-out 0.1");
  ASSERT_EQ(done.code, 0) << done.error;
  const std::string tried = file_bytes((folder() / "auto" / "attempts.csv").string());
  EXPECT_NE(tried.find("what,passes,seconds,held_out_deviance_per_photon,kept"), std::string::npos);
  EXPECT_NE(tried.find("until it stands still"), std::string::npos) << tried;
  const nlohmann::json found = scores("auto");
  EXPECT_LT(found["held_out.deviance_per_photon"].get<double>(),
            0.5 * found["held_out.mean_pattern_deviance_per_photon"].get<double>());
  for (const std::string option : {"--probe-modes 3", "--object-slope 0.2", "--background"}) {
    const Outcome refused = run_ptyche(solve("chosen") + option);
    EXPECT_EQ(refused.code, 2) << option;
    EXPECT_TRUE(says(refused, "--solver auto chooses it by itself")) << refused.error;
  }
  EXPECT_FALSE(is_there("chosen"));
}

TEST_F(SolveCommand, RefusesOptionsThatItsSolversDoNotLookAt) {
  const Outcome refused = run_ptyche(solve("ignored") + "--solver rpie:2 --batch 5 --momentum 0.5");
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(says(refused, "--batch: no solver of rpie:2 looks at it unless")) << refused.error;
  EXPECT_FALSE(says(refused, "--momentum")) << refused.error;
  EXPECT_FALSE(is_there("ignored/reconstruction.h5"));
  EXPECT_EQ(
      run_ptyche(solve("ignored") + "--solver rpie:2 --batch 5 --background --no-verdict").code, 0);
  EXPECT_EQ(run_ptyche(solve("ignored") + "--momentum fast").code, 2);
}

}  // namespace
}  // namespace ptyche
