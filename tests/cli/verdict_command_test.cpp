// The verdict as a user meets it: the first line, the exit code, what is held out and who knows it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "ptyche/io/cxi.h"
#include "ptyche/io/product.h"
#include "ptyche/simulate/simulate.h"
#include "tests/support/run_program.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

SimulateOptions sample_options() {
  SimulateOptions options;
  options.pattern_size = 32;
  options.frames = 100;
  options.probe_diameter_px = 12;
  options.step_px = 3;
  return options;
}

/// A folder with a good scan and one whose patterns are noise.
class VerdictCommand : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    fs::create_directories(folder());
    const Scan scan = simulate(sample_options());
    write_cxi(folder() / "scan.cxi", scan);
    ScanFields fields = scan.fields();
    const double mean = scan.counts().to(at::kDouble).mean().item<double>();
    const at::Tensor means = at::full(scan.counts().sizes(), mean, at::kDouble);
    fields.counts =
        poisson_draws(means, at::arange(100, at::kLong), 3, Purpose::noise).to(at::kInt);
    fields.truth = at::Tensor();
    write_cxi(folder() / "noise.cxi", Scan(fields));
  }
  static void TearDownTestSuite() { fs::remove_all(folder()); }

  static fs::path folder() {
    return fs::temp_directory_path() / ("ptyche verdict cli " + std::to_string(getpid()));
  }
  static std::string quoted(const std::string& name) {
    return "'" + (folder() / name).string() + "'";
  }
  static Outcome run(const std::string& verb, const std::string& scan, const std::string& to,
                     const std::string& more = "") {
    return run_ptyche(verb + " " + quoted(scan) + " -o " + quoted(to) + " --threads 1 " + more);
  }
  static nlohmann::json scores(const std::string& of) {
    return nlohmann::json::parse(file_bytes((folder() / of / "scores.json").string()));
  }
};

using VerdictCommandSlow = VerdictCommand;

TEST_F(VerdictCommand, ComesFirstAndSaysGoodWithTheExpectedError) {
  const Outcome done = run("reconstruct", "scan.cxi", "good");
  EXPECT_EQ(done.code, 0) << done.error;
  EXPECT_TRUE(done.output.starts_with("good: expected error ")) << done.output.substr(0, 200);
  const nlohmann::json json = scores("good");
  EXPECT_EQ(json.at("verdict"), "good");
  EXPECT_EQ(json.at("held_out.frames"), 8);
  EXPECT_GT(json.at("verdict.expected_error"), 0);
  EXPECT_TRUE(fs::exists(folder() / "good" / "verdict.png"));
  const std::string page = file_bytes((folder() / "good" / "report.html").string());
  EXPECT_NE(page.find("<strong>good</strong>: expected error"), std::string::npos);
}

TEST_F(VerdictCommand, NoiseIsWrittenAndEndsWithCodeFour) {
  for (const std::string& more : {std::string("reconstruct"), std::string("solve")}) {
    const Outcome done = run(more, "noise.cxi", "noise " + more,
                             more == "solve" ? "--solver ml:10 --no-check" : "--no-check");
    EXPECT_EQ(done.code, 4) << done.error;
    EXPECT_TRUE(done.output.starts_with("failed: ")) << done.output.substr(0, 200);
    EXPECT_NE(done.error.find("ptyche: failed: "), std::string::npos) << done.error;
    EXPECT_TRUE(fs::exists(folder() / ("noise " + more) / "report.html"));
    EXPECT_EQ(scores("noise " + more).at("verdict"), "failed");
  }
}

TEST_F(VerdictCommandSlow, ARefinementThatFitsNoiseIsUndone) {
  const Scan scan = simulate(sample_options());
  ScanFields fields = scan.fields();
  const at::Tensor mean = 0.03 * scan.counts().to(at::kDouble).mean(0, true);
  const at::Tensor means = mean.expand_as(scan.counts());
  fields.counts = poisson_draws(means, at::arange(100, at::kLong), 1, Purpose::noise).to(at::kInt);
  fields.truth = at::Tensor();
  write_cxi(folder() / "mean.cxi", Scan(fields));
  const Outcome done = run("reconstruct", "mean.cxi", "undone",
                           "--train 20 --refine 200 --group-size 8 --merged 4 --precision float32 "
                           "--hold-out 0.1 --no-verdict");
  ASSERT_EQ(done.code, 0) << done.error;
  EXPECT_NE(done.error.find("the refinement is undone"), std::string::npos) << done.error;
  const nlohmann::json json = scores("undone");
  EXPECT_GT(json.at("refine.undone_held_out_deviance_per_photon"),
            json.at("held_out.deviance_per_photon"));
  EXPECT_EQ(json.at("refine.before_held_out_deviance_per_photon"),
            json.at("held_out.deviance_per_photon"));
}

TEST_F(VerdictCommand, IsLeftOutOnRequest) {
  const Outcome done = run("solve", "noise.cxi", "quiet", "--solver ml:3 --no-check --no-verdict");
  EXPECT_EQ(done.code, 0) << done.error;
  EXPECT_FALSE(scores("quiet").contains("verdict"));
}

TEST_F(VerdictCommand, PatternsAreHeldOutUnlessTheScanIsSmallOrTheUserSaysNone) {
  ASSERT_EQ(run("solve", "scan.cxi", "none", "--solver ml:3 --no-verdict --hold-out 0").code, 0);
  EXPECT_FALSE(scores("none").contains("held_out.frames"));
  SimulateOptions few = sample_options();
  few.frames = 60;
  write_cxi(folder() / "few.cxi", simulate(few));
  const Outcome done = run("solve", "few.cxi", "few", "--solver ml:3 --no-verdict");
  EXPECT_FALSE(scores("few").contains("held_out.frames"));
  EXPECT_NE(done.error.find("none of 60 patterns is held out"), std::string::npos) << done.error;
}

TEST_F(VerdictCommand, EvaluateTakesFromTheFileWhichPatternsWereUsed) {
  ASSERT_EQ(run("solve", "scan.cxi", "split", "--solver ml:3 --no-verdict --hold-out 0.1").code, 0);
  const std::string evaluate =
      "evaluate " + quoted("split/reconstruction.h5") + " " + quoted("scan.cxi") + " ";
  const Outcome plain = run_ptyche(evaluate);
  ASSERT_EQ(plain.code, 0) << plain.error;
  const auto own = nlohmann::json::parse(plain.output);
  EXPECT_EQ(own.at("held_out.frames"), 10);
  EXPECT_EQ(own.at("held_out.deviance_per_photon"),
            scores("split").at("held_out.deviance_per_photon"));
  EXPECT_EQ(run_ptyche(evaluate + "--hold-out 0.1").output, plain.output);
  const Outcome other = run_ptyche(evaluate + "--hold-out 0.1 --seed 2");
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.error.find("that the options call held out"), std::string::npos) << other.error;
}

}  // namespace
}  // namespace ptyche
