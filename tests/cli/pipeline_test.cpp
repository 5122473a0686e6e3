// The program as a user runs it: whole verbs on a small simulated scan, and what can go wrong.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ptyche/core/messages.h"
#include "ptyche/io/product.h"
#include "ptyche/io/read_scan.h"
#include "ptyche/io/write_scan.h"
#include "tests/support/run_program.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

/// A folder with a space in its name, and a small scan in it.
class Pipeline : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    fs::create_directories(folder());
    const Outcome made = run_ptyche("simulate -o '" + scan() +
                                    "' --N 32 --n-patterns 64 --probe-diameter 12 --step 4");
    ASSERT_EQ(made.code, 0) << made.error;
  }
  static void TearDownTestSuite() { fs::remove_all(folder()); }

  static fs::path folder() {
    return fs::temp_directory_path() / ("ptyche cli " + std::to_string(getpid()));
  }
  static std::string scan() { return (folder() / "scan.cxi").string(); }
  static std::string out(const std::string& name) { return (folder() / name).string(); }
  static std::string small() {
    return " --epochs 3 --group-size 8 --merged 4 --threads 1 --precision float32 ";
  }
  /// A network of three epochs: its image is no good, which is another test.
  static std::string trained() { return " --no-verdict --train" + small(); }
};

using PipelineSlow = Pipeline;

TEST_F(Pipeline, ReconstructBySolversLeavesEveryFileThatTheReadmeNames) {
  const Outcome done = run_ptyche("reconstruct '" + scan() + "' -o '" + out("solvers") +
                                  "' --hold-out 0.1 --threads 1");
  ASSERT_EQ(done.code, 0) << done.error;
  for (const char* name : {"reconstruction.h5", "amplitude.png", "phase.png", "probe.png",
                           "attempts.csv", "scores.json", "report.html"})
    EXPECT_GT(fs::file_size(fs::path(out("solvers")) / name), 50u) << name;
  EXPECT_FALSE(fs::exists(fs::path(out("solvers")) / "model.ptyche"));
  EXPECT_NE(done.output.find("\nfit       deviance of held-out patterns 0."), std::string::npos)
      << done.output;
}

TEST_F(Pipeline, WhatWasCorrectedIsInResultScoresReportArraysAndEvents) {
  ScanFields fields = read_scan({.file = scan()}).fields();
  const auto gap = [](const at::Tensor& of) { return of.slice(-2, 2, 6).slice(-1, 2, 6); };
  fields.mask = at::zeros_like(fields.mask);
  gap(fields.mask).fill_(true);
  const fs::path folder = out("corrected"), wrong = out("inverted.cxi");
  write_scan_as("CXI", wrong, Scan(fields));
  const Outcome done = run_ptyche("solve '" + wrong.string() + "' --solver ml:3 --no-verdict " +
                                  "--arrays -o '" + folder.string() + "' --events json");
  ASSERT_EQ(done.code, 0) << done.error;
  EXPECT_NE(done.error.find("corrected: mask: inverted: "), std::string::npos) << done.error;
  EXPECT_NE(done.output.find("\"event\":\"correction\""), std::string::npos) << done.output;
  const auto is_it = [](const Remark& remark) {
    return remark.kind == Remark::Kind::correction && remark.cause == "mask: inverted" &&
           remark.before == "16 of 1024 pixels are counted" &&
           remark.after == "1008 of 1024 pixels are counted";
  };
  const auto holds = [&](const std::vector<Remark>& remarks) {
    return std::ranges::any_of(remarks, is_it);
  };
  EXPECT_TRUE(holds(read_reconstruction(folder / "reconstruction.h5").provenance.remarks));
  for (const char* name : {"scores.json", "arrays.json"})
    EXPECT_TRUE(holds(remarks_from(nlohmann::json::parse(file_bytes(folder / name)).at("remarks"))))
        << name;
  const std::string page = file_bytes(folder / "report.html");
  EXPECT_NE(page.find("<strong>Corrected</strong> mask: inverted"), std::string::npos);
}

TEST_F(Pipeline, InfoChecksAScanAndDrawsWhatItLookedAt) {
  const Outcome done = run_ptyche("info '" + scan() + "' --check -o '" + out("checked") + "'");
  ASSERT_EQ(done.code, 0) << done.error;
  EXPECT_NE(done.output.find("checked                0 corrected"), std::string::npos)
      << done.output;
  EXPECT_GT(fs::file_size(fs::path(out("checked")) / "checks.png"), 1000u);
  EXPECT_EQ(run_ptyche("info '" + scan() + "' -o '" + out("unchecked") + "'").code, 2);
}

TEST_F(Pipeline, ReconstructRefusesOptionsOfANetworkThatItDoesNotTrain) {
  const Outcome refused =
      run_ptyche("reconstruct '" + scan() + "' -o '" + out("untrained") + "' --epochs 3");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.error.find("--epochs: nothing looks at it unless a network is trained"),
            std::string::npos)
      << refused.error;
  EXPECT_FALSE(fs::exists(out("untrained")));
}

TEST_F(Pipeline, ReconstructWithANetworkLeavesItsFilesToo) {
  const Outcome done =
      run_ptyche("reconstruct '" + scan() + "' -o '" + out("all") + "' --hold-out 0.1" + trained());
  ASSERT_EQ(done.code, 0) << done.error;
  for (const char* name :
       {"reconstruction.h5", "amplitude.png", "phase.png", "probe.png", "model.ptyche",
        "history.csv", "scores.json", "report.html", "network.h5"})
    EXPECT_GT(fs::file_size(fs::path(out("all")) / name), 50u) << name;
  EXPECT_FALSE(fs::exists(fs::path(out("all")) / "checkpoint.ptyche"));
  const auto scores = nlohmann::json::parse(file_bytes(out("all") + "/scores.json"));
  for (const char* name : {"held_out.r_factor", "held_out.deviance_per_photon",
                           "held_out.mean_pattern_deviance_per_photon", "truth.nrmse_contrast"})
    EXPECT_TRUE(scores.contains(name)) << name;
}

TEST_F(Pipeline, TrainThenInferGivesTheScoresOfReconstruct) {
  ASSERT_EQ(
      run_ptyche("reconstruct '" + scan() + "' --refine none -o '" + out("whole") + "'" + trained())
          .code,
      0);
  ASSERT_EQ(run_ptyche("train '" + scan() + "' -o '" + out("half") + "'" + small()).code, 0);
  ASSERT_EQ(run_ptyche("infer '" + scan() + "' -m '" + out("half") + "/model.ptyche' -o '" +
                       out("half") + "' --threads 1 --precision float32")
                .code,
            0);
  const Outcome a =
      run_ptyche("evaluate '" + out("whole") + "/reconstruction.h5' '" + scan() + "'");
  const Outcome b = run_ptyche("evaluate '" + out("half") + "/reconstruction.h5' '" + scan() + "'");
  EXPECT_EQ(a.code, 0) << a.error;
  EXPECT_EQ(a.output, b.output);
}

TEST_F(Pipeline, TakesTheWordsOfPtychoPinn) {
  const std::string data = out("original.cxi"), folder = out("original");
  ASSERT_EQ(run_ptyche("simulate -o '" + data + "' --n-patterns 36").code, 0);
  const Outcome trained = run_ptyche(
      "train --train_data_file '" + data + "' --test_data_file '" + data + "' --output_dir '" +
      folder +
      "' --network ptychopinn --n_groups 8 --gridsize 2 --neighbor_count 7 --batch_size 4 " +
      "--nepochs 1 --do_stitching --object_big False --probe_big True --n_filters_scale 1 " +
      "--mae_weight 1 --backend tensorflow --probe-start guess");
  ASSERT_EQ(trained.code, 0) << trained.error;
  EXPECT_NE(trained.error.find("there is one program"), std::string::npos) << trained.error;
  for (const char* name :
       {"reconstruction.h5", "reconstructed_amplitude.png", "reconstructed_phase.png"})
    EXPECT_TRUE(fs::exists(fs::path(folder) / name)) << name;
  const Outcome inferred =
      run_ptyche("infer --model_path '" + folder + "' --test_data '" + data + "' --output_dir '" +
                 out("original again") +
                 "' --n_groups 30 --gridsize 2 --neighbor_count 7 --comparison_plot "
                 "--backend pytorch");
  EXPECT_EQ(inferred.code, 0) << inferred.error;
  EXPECT_NE(inferred.error.find("the model knows"), std::string::npos) << inferred.error;
  for (const char* name :
       {"reconstructed_amplitude.png", "reconstructed_phase.png", "comparison_plot.png"})
    EXPECT_TRUE(fs::exists(fs::path(out("original again")) / name)) << name;
}

TEST_F(Pipeline, ThePresetTrainsAndItsModelSaysHow) {
  const std::string data = out("preset.cxi"), folder = out("preset");
  ASSERT_EQ(run_ptyche("simulate -o '" + data + "' --n-patterns 36").code, 0);
  const Outcome trained =
      run_ptyche("train '" + data + "' -o '" + folder +
                 "' --preset ptychopinn --nepochs 1 --n_filters_scale 1 --gridsize 2 "
                 "--nll_weight 1 --mae_weight 0.5 --tv_weight 0.01 --probe_mask --do_stitching");
  ASSERT_EQ(trained.code, 0) << trained.error;
  EXPECT_TRUE(fs::exists(fs::path(folder) / "reconstructed_phase.png"));
  const Outcome info = run_ptyche("info '" + folder + "/model.ptyche'");
  for (const char* line :
       {"trained as             ptychopinn\n", "loss                   poisson\n",
        "absolute error beside it 0.5\n", "epochs                 1\n",
        "learning rate          0.001\n", "patterns in a group    4\n"})
    EXPECT_NE(info.output.find(line), std::string::npos) << line << info.output;
}

TEST_F(Pipeline, SplitsScansSimulatesLikeThemAndComparesModels) {
  ASSERT_EQ(run_ptyche("convert '" + scan() + "' '" + out("parts.npz") + "' --split 0.5").code, 0);
  EXPECT_TRUE(fs::exists(out("parts_test.npz")));
  const Outcome like = run_ptyche("simulate --like '" + out("parts_train.npz") + "' -o '" +
                                  out("like.npz") + "' --photons 1e6");
  EXPECT_EQ(like.code, 0) << like.error;
  EXPECT_EQ(run_ptyche("simulate --like '" + scan() + "' -o '" + out("no.npz") + "' --N 48").code,
            2);
  EXPECT_EQ(run_ptyche("simulate -o '" + out("no.npz") + "' --number 3").code, 2);
  ASSERT_EQ(run_ptyche("train '" + scan() + "' -o '" + out("of models") + "'" + small()).code, 0);
  const Outcome compared = run_ptyche("compare-models '" + scan() + "' '" + out("of models") +
                                      "' '" + scan() + "' -o '" + out("models") + "' --threads 1");
  ASSERT_EQ(compared.code, 0) << compared.error;
  for (const char* name : {"comparison_metrics.csv", "metrics.json", "comparison_plot.png"})
    EXPECT_GT(fs::file_size(fs::path(out("models")) / name), 50u) << name;
}

TEST_F(PipelineSlow, BenchSaysHowFastBothEnginesAre) {
  const std::string file = out("speed.json");
  const Outcome done = run_ptyche("bench engines --N 32 --seconds 0 --json '" + file + "'");
  ASSERT_EQ(done.code, 0) << done.error;
  const auto lines = nlohmann::json::parse(file_bytes(file));
  ASSERT_EQ(lines.size(), 2u);
  for (const char* key : {"train_patterns_per_second", "train_share_of_peak",
                          "infer_patterns_per_second", "infer_share_of_peak", "peak_gflops"})
    EXPECT_GT(lines[1].at(key).get<double>(), 0) << key;
  EXPECT_EQ(lines[1].at("engine"), "reference");
  EXPECT_EQ(run_ptyche("bench solvers").code, 2);
}

TEST_F(PipelineSlow, InterruptedAndResumedTrainingGivesTheSameModelBitForBit) {
  const std::string many =
      " --epochs 15 --group-size 8 --merged 4 --threads 1 --precision float32 ";
  ASSERT_EQ(run_ptyche("train '" + scan() + "' -o '" + out("straight") + "'" + many).code, 0);
  const std::string train = "train '" + scan() + "' -o '" + out("stopped") + "'" + many;
  const Outcome stopped = run_ptyche_and_interrupt(train, "train [");
  ASSERT_EQ(stopped.code, 130) << stopped.error;
  EXPECT_NE(stopped.error.find("--resume"), std::string::npos) << stopped.error;
  ASSERT_EQ(run_ptyche(train + "--resume").code, 0);
  EXPECT_EQ(file_bytes(out("stopped") + "/model.ptyche"),
            file_bytes(out("straight") + "/model.ptyche"));
}

TEST_F(Pipeline, CompareFindsNoErrorBetweenAnImageAndItselfAndLeavesAReport) {
  ASSERT_EQ(run_ptyche("simulate -o '" + out("truth.cxi") + "' --N 64 --n-patterns 36").code, 0);
  const std::string truth = "'" + out("truth.cxi") + "'";
  const Outcome done = run_ptyche("compare " + truth + " " + truth + " -o '" + out("same") + "'");
  ASSERT_EQ(done.code, 0) << done.error;
  for (const char* name : {"compare.json", "amplitude.png", "phase.png", "amplitude_difference.png",
                           "phase_difference.png", "frc.png", "report.html"})
    EXPECT_GT(fs::file_size(fs::path(out("same")) / name), 50u) << name;
  const auto numbers = nlohmann::json::parse(file_bytes(out("same") + "/compare.json"));
  EXPECT_LT(numbers["nrmse_contrast"], 1e-6);
  EXPECT_EQ(numbers["flat_nrmse_contrast"], 1.0);
  EXPECT_LT(std::abs(numbers["shift_row_px"].get<double>()), 1e-4);
  EXPECT_GT(numbers["frc_half_bit_cycles_per_px"], 0.48);  // the last ring of an odd side
  EXPECT_FALSE(numbers["meaning"]["phase_rmse_rad"].empty());
  EXPECT_NE(done.output.find("[flat object 1"), std::string::npos) << done.output;
}

TEST_F(Pipeline, CompareRefusesWhatHoldsNoObject) {
  const Outcome none = run_ptyche("compare '" + scan() + "' '" + out("none.h5") + "'");
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.error.find("none.h5"), std::string::npos) << none.error;
  const Outcome window =
      run_ptyche("compare '" + scan() + "' '" + scan() + "' --window 0,9999,0,40");
  EXPECT_EQ(window.code, 1);
  EXPECT_NE(window.error.find("9999"), std::string::npos) << window.error;
}

TEST_F(PipelineSlow, HalfSetsLeaveTheirScoresTwoImagesAndACurve) {
  ASSERT_EQ(run_ptyche("simulate -o '" + out("halves.cxi") +
                       "' --N 32 --frames 144 --probe-diameter 12 --step 4")
                .code,
            0);
  const Outcome done = run_ptyche("reconstruct '" + out("halves.cxi") + "' -o '" + out("halves") +
                                  "' --half-sets" + trained());
  ASSERT_EQ(done.code, 0) << done.error;
  for (const char* name :
       {"half_even.h5", "half_odd.h5", "half_sets.csv", "half_sets.png", "reconstruction.h5"})
    EXPECT_GT(fs::file_size(fs::path(out("halves")) / name), 50u) << name;
  const auto numbers = nlohmann::json::parse(file_bytes(out("halves") + "/scores.json"));
  EXPECT_GT(numbers["half_sets.frc_half_bit_cycles_per_px"], 0.0);
  EXPECT_LE(numbers["half_sets.frc_one_bit_cycles_per_px"],
            numbers["half_sets.frc_half_bit_cycles_per_px"]);
  const Outcome again = run_ptyche("compare '" + out("halves") + "/half_odd.h5' '" + out("halves") +
                                   "/half_even.h5'");
  EXPECT_EQ(again.code, 0) << again.error;
}

TEST_F(Pipeline, ExportsTheProgramsNetworkInBothLayoutsAndRefusesToMakeAPictureOfNothing) {
  const Outcome done = run_ptyche("export --onnx --safetensors -o '" + out("edge.onnx") + "'");
  ASSERT_EQ(done.code, 0) << done.error;
  EXPECT_GT(fs::file_size(out("edge.onnx")), 500'000u);
  EXPECT_GT(fs::file_size(out("edge.safetensors")), 500'000u);
  const Outcome none = run_ptyche("export -o '" + out("image.npy") + "'");
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.error.find("expected RESULT and OUT"), std::string::npos) << none.error;
}

TEST_F(Pipeline, StoppedWhileTrustIsMeasuredKeepsTheImageAndEndsAsInterrupted) {
  const Outcome stopped =
      run_ptyche_and_interrupt("infer '" + scan() + "' -o '" + out("stopped") + "'", "trust [");
  EXPECT_EQ(stopped.code, 130) << stopped.error;
  EXPECT_NE(stopped.error.find("the image is kept in"), std::string::npos) << stopped.error;
  EXPECT_TRUE(fs::exists(out("stopped") + "/reconstruction.h5"));
}

TEST_F(Pipeline, AnImageByTheProgramsNetworkSaysHowSureItIsInProductScoresAndReport) {
  ASSERT_EQ(run_ptyche("simulate -o '" + out("sure.cxi") +
                       "' --N 32 --frames 64 --step 3 --probe-diameter 12")
                .code,
            0);
  const Outcome done = run_ptyche("infer '" + out("sure.cxi") + "' -o '" + out("sure") + "'");
  ASSERT_EQ(done.code, 0) << done.error;
  EXPECT_NE(done.output.find("trust     expected error "), std::string::npos) << done.output;
  const auto numbers = nlohmann::json::parse(file_bytes(out("sure") + "/scores.json"));
  EXPECT_GT(numbers.at("trust.expected_error"), 0.0);
  EXPECT_LT(numbers.at("trust.unlike"), 1.0);
  EXPECT_EQ(numbers.at("trust_reason"), "");
  EXPECT_GT(fs::file_size(out("sure") + "/trust.png"), 1000u);
  const std::string page = file_bytes(out("sure") + "/report.html");
  EXPECT_NE(page.find("<strong>Trust</strong>: expected error"), std::string::npos);
  const auto stored = read_stored_scores(out("sure") + "/reconstruction.h5");
  ASSERT_TRUE(stored.trust.has_value());
  EXPECT_EQ(stored.trust->map.sizes(),
            read_reconstruction(out("sure") + "/reconstruction.h5").projection().sizes());
  ASSERT_EQ(run_ptyche("infer '" + out("sure.cxi") + "' --no-trust -o '" + out("plain") + "'").code,
            0);
  EXPECT_FALSE(fs::exists(out("plain") + "/trust.png"));
  EXPECT_EQ(file_bytes(out("plain") + "/scores.json").find("trust"), std::string::npos);
}

TEST_F(PipelineSlow, AProbeThatInferKeepsBeginsTheNextSolveOfTheSameInstrument) {
  setenv("PTYCHE_PROBES", out("kept").c_str(), 1);
  const std::string optics = " --energy 8000 --distance 2 --detector-pixel 75e-6";
  const std::string small = " --N 32 --frames 64 --step 3 --probe-diameter 12" + optics;
  for (const char* seed : {"1", "2"})
    ASSERT_EQ(run_ptyche("simulate -o '" + out(seed) + ".cxi' --seed " + seed + small).code, 0);
  const std::string keep = "' --keep-probe lens --overwrite -o '" + out("first") + "'";
  const Outcome kept = run_ptyche("infer '" + out("1") + ".cxi" + keep);
  ASSERT_EQ(kept.code, 0) << kept.error;
  EXPECT_NE(run_ptyche("probes").output.find("lens"), std::string::npos);
  EXPECT_EQ(run_ptyche("infer '" + out("1") + ".cxi" + keep).code, 1);  // the name is taken
  const Outcome next = run_ptyche("solve '" + out("2") + ".cxi' --probe '" + out("kept") +
                                  "/lens.h5' --solver ml:2 --no-verdict -o '" + out("next") + "'");
  EXPECT_EQ(next.code, 0) << next.error;
  EXPECT_EQ(run_ptyche("probes remove lens").code, 0);
  EXPECT_NE(run_ptyche("probes list").output.find("no probe is kept"), std::string::npos);
  EXPECT_EQ(run_ptyche("probes show lens").code, 1);
  EXPECT_EQ(run_ptyche("probes show").code, 2);
  unsetenv("PTYCHE_PROBES");
}

TEST_F(Pipeline, InfoSaysWhatAScanAModelAndAReconstructionHold) {
  ASSERT_EQ(run_ptyche("reconstruct '" + scan() + "' -o '" + out("info") + "'" + trained()).code,
            0);
  EXPECT_NE(run_ptyche("info '" + scan() + "'").output.find("64 of 32 x 32 px"), std::string::npos);
  EXPECT_NE(run_ptyche("info '" + out("info") + "/model.ptyche'").output.find("32 x 32 px"),
            std::string::npos);
  EXPECT_NE(run_ptyche("info '" + out("info") + "/reconstruction.h5'").output.find("probe_fourier"),
            std::string::npos);
}

TEST_F(Pipeline, InfoSaysWhichGroupsAScanCanBeCutInto) {
  const Outcome groups = run_ptyche("info '" + scan() + "' --groups --gridsize 2");
  EXPECT_EQ(groups.code, 0) << groups.error;
  EXPECT_NE(groups.output.find("(16, 4) patterns of (32, 32) px"), std::string::npos)
      << groups.output;
  const Outcome many = run_ptyche("info '" + scan() + "' --groups --gridsize 2 --n_groups 65");
  EXPECT_EQ(many.code, 1);
  EXPECT_NE(many.error.find("64 groups of 4 patterns can be made"), std::string::npos)
      << many.error;
}

TEST_F(Pipeline, AModelOfAnotherPatternSizeIsRefusedWithBothSizes) {
  ASSERT_EQ(run_ptyche("train '" + scan() + "' -o '" + out("small") + "'" + small()).code, 0);
  ASSERT_EQ(run_ptyche("simulate -o '" + out("large.cxi") + "' --N 64 --n-patterns 36").code, 0);
  const Outcome refused = run_ptyche("infer '" + out("large.cxi") + "' -m '" + out("small") +
                                     "/model.ptyche' -o '" + out("refused") + "'");
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.error.find("32 x 32"), std::string::npos) << refused.error;
  EXPECT_NE(refused.error.find("64 x 64"), std::string::npos) << refused.error;
  EXPECT_FALSE(fs::exists(out("refused") + "/reconstruction.h5"));
}

TEST_F(Pipeline, AGroupLargerThanTheScanIsRefusedBeforeAnyWork) {
  ASSERT_EQ(run_ptyche("simulate -o '" + out("few.cxi") +
                       "' --N 32 --frames 9 --probe-diameter 12 --step 4")
                .code,
            0);
  const Outcome refused = run_ptyche("reconstruct '" + out("few.cxi") + "' -o '" + out("few") +
                                     "' --train --group-size 16 --merged 8");
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.error.find("the scan has 9"), std::string::npos) << refused.error;
}

TEST_F(Pipeline, AnOutputFolderThatCannotBeWrittenIsRefusedAtOnce) {
  const Outcome refused = run_ptyche("reconstruct '" + scan() + "' -o /proc/ptyche" + trained());
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.error.find("/proc/ptyche"), std::string::npos) << refused.error;
}

TEST_F(Pipeline, AFullDiskIsAnErrorThatLeavesNoHalfFile) {
  const fs::path disk = folder() / "tiny disk";
  fs::create_directories(disk);
  if (std::system(
          ("mount -t tmpfs -o size=256k tmpfs '" + disk.string() + "' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "a tmpfs cannot be mounted here";
  const Outcome refused =
      run_ptyche("reconstruct '" + scan() + "' -o '" + disk.string() + "'" + trained());
  std::size_t left = 0;
  for (const auto& entry : fs::directory_iterator(disk))
    left += entry.path().filename() != "model.ptyche" && entry.path().filename() != "history.csv" &&
            entry.path().filename() != "first_probe.h5";
  (void)!std::system(("umount '" + disk.string() + "'").c_str());
  EXPECT_EQ(refused.code, 1) << refused.error;
  EXPECT_EQ(left, 0u);
  EXPECT_NE(refused.error.find("tiny disk"), std::string::npos) << refused.error;
}

TEST_F(Pipeline, CtrlCDuringTheRefinementLeavesTheImageSoFarScoredAndDrawn) {
  const Outcome stopped =
      run_ptyche_and_interrupt("reconstruct '" + scan() + "' -o '" + out("refining") +
                                   "' --half-sets --refine 10000 --hold-out 0.1" + trained(),
                               "/10000");
  EXPECT_EQ(stopped.code, 130) << stopped.error;
  EXPECT_NE(stopped.error.find("stopped during the refinement"), std::string::npos)
      << stopped.error;
  for (const char* name : {"reconstruction.h5", "scores.json", "report.html", "model.ptyche"})
    EXPECT_GT(fs::file_size(fs::path(out("refining")) / name), 50u) << name;
  EXPECT_FALSE(fs::exists(out("refining") + "/half_even.h5"));
  const auto scores = nlohmann::json::parse(file_bytes(out("refining") + "/scores.json"));
  EXPECT_TRUE(scores.contains("held_out.r_factor"));
}

TEST_F(Pipeline, EvaluateWarnsOfAnImageOfAnotherScan) {
  ASSERT_EQ(run_ptyche("train '" + scan() + "' -o '" + out("of") + "'" + small()).code, 0);
  ASSERT_EQ(run_ptyche("infer '" + scan() + "' -m '" + out("of") + "/model.ptyche' -o '" +
                       out("of") + "' --threads 1")
                .code,
            0);
  ASSERT_EQ(run_ptyche("simulate -o '" + out("other.cxi") +
                       "' --N 32 --frames 64 --probe-diameter 12 --step 4 --seed 2")
                .code,
            0);
  const std::string evaluate = "evaluate '" + out("of") + "/reconstruction.h5' '";
  EXPECT_EQ(run_ptyche(evaluate + scan() + "'").error.find("another scan"), std::string::npos);
  const Outcome other = run_ptyche(evaluate + out("other.cxi") + "'");
  EXPECT_EQ(other.code, 0);
  EXPECT_NE(other.error.find("made from another scan"), std::string::npos) << other.error;
}

TEST_F(PipelineSlow, InferAtTenTimesThePhotonsGivesTheSameMagnitude) {
  const std::string bright = out("bright.cxi");
  ASSERT_EQ(run_ptyche("simulate -o '" + bright +
                       "' --N 32 --frames 64 --probe-diameter 12 --step 4 --photons 1e7")
                .code,
            0);
  ASSERT_EQ(run_ptyche("simulate -o '" + out("dim.cxi") +
                       "' --N 32 --frames 64 --probe-diameter 12 --step 4 --photons 1e6")
                .code,
            0);
  ASSERT_EQ(run_ptyche("train '" + out("dim.cxi") + "' -o '" + out("dose") + "'" + small()).code,
            0);
  for (const std::string name : {"dim", "bright"}) {
    const Outcome done = run_ptyche("infer '" + out(name + ".cxi") + "' -m '" + out("dose") +
                                    "/model.ptyche' -o '" + out("dose " + name) + "' --threads 1");
    ASSERT_EQ(done.code, 0) << done.error;
    EXPECT_EQ(done.error.find("times the photons") != std::string::npos, name == "bright")
        << done.error;
  }
  const auto scale = [&](const std::string& name) {
    const auto scores = nlohmann::json::parse(file_bytes(out("dose " + name) + "/scores.json"));
    return scores["truth.scale_abs"].get<double>();
  };
  EXPECT_NEAR(scale("bright") / scale("dim"), 1, 0.05);
}

TEST_F(Pipeline, InfoTellsFilesByTheirContentAndNamesThoseItCannotRead) {
  ASSERT_EQ(run_ptyche("train '" + scan() + "' -o '" + out("named") + "'" + small()).code, 0);
  fs::copy_file(out("named") + "/model.ptyche", out("model.cxi"));
  EXPECT_NE(run_ptyche("info '" + out("model.cxi") + "'").output.find("parameters"),
            std::string::npos);
  std::ofstream(out("empty.h5")).close();
  for (const char* name : {"empty.h5", "nothere.h5"}) {
    const Outcome refused = run_ptyche("info '" + out(name) + "'");
    EXPECT_EQ(refused.code, 1) << name;
    EXPECT_NE(refused.error.find("error: " + out(name) + ": "), std::string::npos) << refused.error;
  }
}

TEST_F(Pipeline, AReportThatDoesNotFitTheDiskIsAnErrorAndItsPathIsNotPrinted) {
  const fs::path disk = folder() / "small disk";
  fs::create_directories(disk);
  if (std::system(
          ("mount -t tmpfs -o size=1300k tmpfs '" + disk.string() + "' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "a tmpfs cannot be mounted here";
  const Outcome refused =
      run_ptyche("reconstruct '" + scan() + "' -o '" + disk.string() + "'" + trained());
  bool complete = true;
  for (const char* name : {"phase.png", "amplitude.png", "probe.png", "report.html"})
    complete = complete && fs::exists(disk / name);
  (void)!std::system(("umount '" + disk.string() + "'").c_str());
  EXPECT_EQ(refused.code, complete ? 0 : 1) << refused.error;
  EXPECT_EQ(refused.output.find("report.html") != std::string::npos, complete) << refused.output;
}

}  // namespace
}  // namespace ptyche
