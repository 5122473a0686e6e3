// What a PtychoPINN user types, on the verbs that take it.
#include "ptyche/commands/ptychopinn_words.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/parse.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

/// The options of a verb after these words.
nlohmann::json options_after(const std::string& verb, std::vector<std::string> words) {
  words.insert(words.end(), {"scan.npz", "-o", "out"});
  const std::vector<Command> all = all_commands();
  const Command& command = *std::ranges::find(all, verb, &Command::name);
  parse(command, words);
  return nlohmann::json::parse(options_as_json(command));
}

std::string said_of(const BackendWords& words) {
  testing::internal::CaptureStderr();
  note_backend_words(words);
  return testing::internal::GetCapturedStderr();
}

TEST(Preset, GivesOtherOptionsTheirValuesWhereverItStands) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--preset", "ptychopinn", "--epochs", "7"},
        std::vector<std::string>{"--epochs", "7", "--preset", "ptychopinn"}}) {
    const nlohmann::json options = options_after("train", words);
    EXPECT_EQ(options["epochs"], 7);
    EXPECT_EQ(options["network"], "ptychopinn");
    EXPECT_EQ(options["groups-per-batch"], 16);
    EXPECT_EQ(options["learning-rate"], 1e-3);
    EXPECT_EQ(options["fixed-probe"], true);
    EXPECT_EQ(options["probe"], "scan");
    EXPECT_EQ(options["probe-scale"], 4.0);
  }
}

TEST(Preset, OnTheCommandLineLeavesTheValuesOfAConfigFile) {
  const TestFolder folder;
  std::ofstream(folder / "c.yaml") << "nepochs: 9\npreset: none\n";
  const nlohmann::json options =
      options_after("train", {"--config", (folder / "c.yaml").string(), "--preset", "ptychopinn"});
  EXPECT_EQ(options["epochs"], 9);
  EXPECT_EQ(options["network"], "ptychopinn");
}

TEST(Preset, InAConfigFileComesBeforeTheOtherKeys) {
  const TestFolder folder;
  std::ofstream(folder / "c.yaml") << "nepochs: 9\npreset: ptychopinn\n";
  const nlohmann::json options = options_after("train", {"--config", (folder / "c.yaml").string()});
  EXPECT_EQ(options["epochs"], 9);
  EXPECT_EQ(options["groups-per-batch"], 16);
}

TEST(LossWeights, AboveZeroAreOneLossOrBothInTheirRatio) {
  EXPECT_EQ((LossWeights{.mae = 2}.kind()), LossKind::amplitude_absolute);
  EXPECT_EQ((LossWeights{.mae = 2}.mae_share()), 0);
  EXPECT_EQ((LossWeights{.nll = 2, .mae = 1}.kind()), LossKind::poisson);
  EXPECT_EQ((LossWeights{.nll = 2, .mae = 1}.mae_share()), 0.5);
}

TEST(PtychoPinnWords, SayWhetherTheProbeIsTrained) {
  EXPECT_EQ(options_after("train", {"--probe_trainable", "false"})["fixed-probe"], true);
  EXPECT_EQ(options_after("train", {"--fixed-probe", "--probe_trainable"})["fixed-probe"], false);
}

TEST(PtychoPinnWords, OfTorchAreUnderstoodOrAccepted) {
  const nlohmann::json options = options_after(
      "train", {"--torch-accelerator", "cuda", "--torch-deterministic", "--torch-num-workers", "4",
                "--torch-learning-rate", "1e-4", "--torch-loss-mode", "mae", "--torch-logger",
                "--use-xla-translate", "--torch-no-deterministic"});
  EXPECT_EQ(options["learning-rate"], 1e-4);
  EXPECT_EQ(options["mae-weight"], 1.0);
  EXPECT_EQ(options["SCAN"], "scan.npz");
  EXPECT_EQ(options_after("infer", {"-m", "m", "--torch-inference-batch-size", "8"})["batch"], 8);
}

TEST(PtychoPinnWords, ThatChangeNothingAreNamedInOneLineEach) {
  EXPECT_EQ(said_of({}), "");
  const std::string said =
      said_of({.backend = "pytorch", .xla = true, .torch_setting = "cuda", .torch_switch = true});
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 3) << said;
  EXPECT_NE(said.find("--torch-*"), std::string::npos);
}

TEST(PtychoPinnWords, OfAStockConfigurationTrainWhatTheySayOrAreNamed) {
  const TestFolder folder;
  std::ofstream(folder / "stock.yaml")
      << "model:\n  N: 64\n  gridsize: 2\n  model_type: pinn\n  amp_activation: sigmoid\n"
         "  object_big: true\n  probe_big: true\n  probe_mask: false\n  pad_object: true\n"
         "  probe_scale: 4.0\n  gaussian_smoothing_sigma: 0.0\n"
         "train_data_file: a.npz\nbatch_size: 16\nnepochs: 50\nmae_weight: 0.0\n"
         "nll_weight: 1.0\nrealspace_weight: 0.0\nnphotons: 1e9\nn_groups: 512\n"
         "neighbor_count: 7\npositions_provided: true\nprobe.trainable: false\n"
         "intensity_scale.trainable: true\ntorch_loss_mode: poisson\nbackend: pytorch\n";
  testing::internal::CaptureStderr();
  const nlohmann::json options = options_after(
      "train", {"--config", (folder / "stock.yaml").string(), "--preset", "ptychopinn"});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(options["gridsize"], 2);
  EXPECT_EQ(options["n-groups"], 512);
  EXPECT_EQ(options["mean-counts"], 1e9);
  EXPECT_EQ(options["fixed-probe"], true);
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_EQ(options["crop"], 64);
  for (const char* key : {"pad_object (line 9)", "intensity_scale.trainable (line 23)"})
    EXPECT_NE(said.find(key), std::string::npos) << key << " in " << said;
}

}  // namespace
}  // namespace ptyche
