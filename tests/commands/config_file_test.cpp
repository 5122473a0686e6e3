#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "ptyche/commands/help.h"
#include "ptyche/core/error.h"
#include "ptyche/io/read_scan.h"
#include "tests/commands/sample_command.h"
#include "tests/support/refusal.h"

namespace ptyche {
namespace {

/// A TOML file that is removed with the test.
class ConfigFile : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    file_ = std::filesystem::path(testing::TempDir()) / (std::string(test->name()) + ".toml");
  }
  void TearDown() override { std::filesystem::remove(file_); }

  Sample parsed(const std::string& toml, std::vector<std::string> words = {}) {
    std::ofstream(file_) << toml;
    words.insert(words.begin(), {"s", "--config", file_.string()});
    Sample sample;
    parse(sample_command(sample), words);
    return sample;
  }

  std::string refusal(const std::string& toml) {
    return message_of([&] { parsed(toml); });
  }

  std::filesystem::path file_;
};

TEST_F(ConfigFile, FillsEveryKindOfOption) {
  const Sample sample = parsed(
      "# a remark\nepochs = 5\nseed = 9\nlearning-rate = 1e-5\ncentre = [31.5, 32]\n"
      "device = 'cuda'\nflip-x = true\noutput-dir = 'a b'\n");
  EXPECT_EQ(sample.epochs, 5);
  EXPECT_EQ(sample.seed, 9u);
  EXPECT_EQ(sample.learning_rate, 1e-5);
  EXPECT_EQ(sample.centre, (std::vector<double>{31.5, 32}));
  EXPECT_EQ(sample.device, "cuda");
  EXPECT_TRUE(sample.flip_x);
  EXPECT_EQ(sample.output_dir, "a b");
}

TEST_F(ConfigFile, TakesUnderscoresInKeys) {
  EXPECT_EQ(parsed("learning_rate = 0.5\n").learning_rate, 0.5);
}

TEST_F(ConfigFile, WinsOverTheDefaultAndLosesToTheCommandLine) {
  const Sample sample = parsed("epochs = 5\nseed = 9\n", {"--epochs", "6"});
  EXPECT_EQ(sample.epochs, 6);
  EXPECT_EQ(sample.seed, 9u);
  EXPECT_EQ(sample.device, "auto");
}

TEST_F(ConfigFile, CanGiveARequiredOption) {
  std::ofstream(file_) << "output-dir = 'x'\n";
  Sample sample;
  Command command = sample_command(sample);
  command.options[0].required = true;
  EXPECT_NO_THROW(parse(command, {"s", "--config", file_.string()}));
  EXPECT_EQ(sample.output_dir, "x");
}

TEST_F(ConfigFile, RefusesAnUnknownKeyByNameAndLineWithTheNearestName) {
  const std::string message = refusal("epochs = 5\nepoch = 6\n");
  for (const std::string& text : {file_.string() + ":2", std::string("'epoch'"),
                                  std::string("did you mean 'epochs'"), std::string("sample")})
    EXPECT_NE(message.find(text), std::string::npos) << message;
}

TEST_F(ConfigFile, RefusesValuesOutOfRangeOrOfAnotherType) {
  EXPECT_NE(refusal("epochs = 0\n").find("1..1000"), std::string::npos);
  EXPECT_NE(refusal("epochs = 1.5\n").find("whole number"), std::string::npos);
  EXPECT_NE(refusal("flip-x = 1\n").find("true or false"), std::string::npos);
  EXPECT_NE(refusal("learning-rate = inf\n").find("number"), std::string::npos);
  EXPECT_NE(refusal("device = 'gpu'\n").find("auto, cpu, cuda"), std::string::npos);
}

TEST_F(ConfigFile, MayBeYamlWithSections) {
  file_.replace_extension(".yaml");
  const Sample sample = parsed(
      "epochs: 5\nmodel:\n  learning_rate: 1e-5\n  centre: [31.5, 32]\nflip_x: True\nseed:\n");
  EXPECT_EQ(sample.epochs, 5);
  EXPECT_EQ(sample.learning_rate, 1e-5);
  EXPECT_EQ(sample.centre, (std::vector<double>{31.5, 32}));
  EXPECT_TRUE(sample.flip_x);
}

TEST_F(ConfigFile, LeavesOutWhatOnlyTheOriginalHasAndSaysSo) {
  file_.replace_extension(".yaml");
  testing::internal::CaptureStderr();
  EXPECT_EQ(parsed("model:\n  architecture: cnn\n  pad_object: True\nepochs: 5\n").epochs, 5);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find(file_.string() +
                      ": of PtychoPINN alone and left out: architecture (line 2), pad_object "
                      "(line 3)\n"),
            std::string::npos)
      << said;
}

TEST_F(ConfigFile, TakesDottedKeysByTheirWholeOrByTheirLastWord) {
  file_.replace_extension(".yaml");
  const Sample sample = parsed("training.epochs: 5\nflip.x: true\nprobe.mask: true\n");
  EXPECT_EQ(sample.epochs, 5);
  EXPECT_TRUE(sample.flip_x);
  EXPECT_NE(refusal("no.such_key: 1\n").find("'no.such_key' is not an option"), std::string::npos);
}

TEST_F(ConfigFile, NamesTheLineOfBadYamlAndOfAnUnknownKey) {
  file_.replace_extension(".yaml");
  EXPECT_NE(refusal("epochs: 5\nseed: [3\n").find(file_.string() + ":"), std::string::npos);
  EXPECT_NE(refusal("epochs: 5\nepoch: 3\n").find(file_.string() + ":2"), std::string::npos);
  EXPECT_NE(refusal("- a\n- b\n").find("keys and values"), std::string::npos);
}

TEST_F(ConfigFile, RefusesASectionThatHoldsItself) {
  file_.replace_extension(".yaml");
  const std::string message = refusal("epochs: 5\nmodel: &own\n  again: *own\n");
  EXPECT_NE(message.find(file_.string() + ":3: sections nested too deeply"), std::string::npos)
      << message;
}

TEST_F(ConfigFile, ShowsEveryValueAndWhereItIsFrom) {
  std::ofstream(file_) << "epochs = 5\n";
  Sample sample;
  const Command command = sample_command(sample);
  const OptionSources sources =
      parse(command, {"s", "--config", file_.string(), "--seed", "9", "--show-config"});
  EXPECT_TRUE(sources.show_config);
  const std::string text = config_text(command, sources);
  for (const char* line :
       {"epochs = 5 +# config file", "seed = 9 +# command line", "# device = \"auto\" +# default"})
    EXPECT_TRUE(std::regex_search(text, std::regex(line))) << line;
}

TEST_F(ConfigFile, TakesBackWhatShowConfigPrints) {
  Sample shown, read;
  const Command command = sample_command(shown);
  const OptionSources sources =
      parse(command, {"s", "--centre", "1.5,2", "--seed", "18446744073709551615", "--output-dir",
                      "a \"b\"", "--flip-x", "--show-config"});
  std::ofstream(file_) << config_text(command, sources);
  parse(sample_command(read), {"s", "--config", file_.string()});
  EXPECT_EQ(options_as_json(sample_command(read)), options_as_json(command));
}

TEST_F(ConfigFile, WhatNobodySaidIsNotTypedWhenShowConfigsFileIsRead) {
  ReadOptions shown, read;
  const auto command = [](ReadOptions& options) { return Command{.options = fields(options)}; };
  const Command first = command(shown);
  std::ofstream(file_) << config_text(first, parse(first, {"--scan-rotation", "0"}));
  parse(command(read), {"--config", file_.string()});
  EXPECT_EQ(read.typed, (std::set<std::string>{"scan-rotation"}));
}

const OtherVerbs kOthers{{"sample", "other"}, {"photons", "step-size", "truth"}, {"result"}};

TEST_F(ConfigFile, GivesArgumentsThatTheCommandLineLeavesOut) {
  std::ofstream(file_) << "scan = 'a b.cxi'\nnote = 'why'\n";
  Sample sample;
  parse(sample_command(sample), {"--config", file_.string()});
  EXPECT_EQ(sample.scan, "a b.cxi");
  EXPECT_EQ(sample.note, "why");
  parse(sample_command(sample), {"c.cxi", "--config", file_.string()});
  EXPECT_EQ(sample.scan, "c.cxi");
}

TEST_F(ConfigFile, GivesAllWordsOfAList) {
  std::ofstream(file_) << "scan = ['a.cxi', 'b,c.cxi']\n";
  Sample sample;
  std::vector<std::filesystem::path> scans;
  Command command = sample_command(sample);
  command.arguments = {{"SCAN", &scans, "the scan files"}};
  parse(command, {"--config", file_.string()});
  EXPECT_EQ(scans, (std::vector<std::filesystem::path>{"a.cxi", "b,c.cxi"}));
}

TEST_F(ConfigFile, RefusesSeveralWordsForOneArgument) {
  const std::string reason = refusal("note = ['a', 'b']\n");
  EXPECT_NE(reason.find(file_.string() + ":1: note: expected one, found 2"), std::string::npos)
      << reason;
}

TEST_F(ConfigFile, ServesSeveralVerbs) {
  for (const bool yaml : {false, true}) {
    const std::filesystem::path file =
        yaml ? std::filesystem::path(file_).replace_extension(".yaml") : file_;
    std::ofstream(file) << (yaml ? "sample:\n  epochs: 7\nepochs: 5\nseed: 3\nphotons: 9\n"
                                   "step_size: 1\ntruth: t\nother:\n  seed: 8\n  own: 1\n"
                                 : "epochs = 5\nseed = 3\nphotons = 9\nstep_size = 1\ntruth = 't'\n"
                                   "[other]\nseed = 8\nown = 1\n[sample]\nepochs = 7\n");
    Sample sample;
    parse(sample_command(sample), {"s", "--config", file.string()}, kOthers);
    EXPECT_EQ(sample.epochs, 7);
    EXPECT_EQ(sample.seed, 3u);
    std::filesystem::remove(file);
  }
}

TEST_F(ConfigFile, TakesAnArgumentOfAnotherVerbForNoAliasOfItsOwn) {
  Sample sample;
  Command command = sample_command(sample);
  command.options[1].aliases = {"result"};
  std::ofstream(file_) << "result = 'r.h5'\nseed = 4\n";
  parse(command, {"s", "--config", file_.string()}, kOthers);
  EXPECT_EQ(sample.epochs, 60);
  std::ofstream(file_) << "[sample]\nresult = 7\n";
  parse(command, {"s", "--config", file_.string()}, kOthers);
  EXPECT_EQ(sample.epochs, 7);
}

TEST_F(ConfigFile, RefusesInAVerbsTableWhatTheVerbHasNot) {
  for (const char* text : {"[sample]\nphotons = 9\n", "nobodys = 1\n", "[nobody]\nepochs = 1\n"}) {
    std::ofstream(file_) << text;
    Sample sample;
    EXPECT_THROW(parse(sample_command(sample), {"s", "--config", file_.string()}, kOthers),
                 InvalidInput)
        << text;
  }
}

TEST_F(ConfigFile, RefusesTables) {
  EXPECT_NE(refusal("[epochs]\na = 1\n").find("--epochs"), std::string::npos);
}

TEST_F(ConfigFile, NamesTheLineOfBadToml) {
  EXPECT_NE(refusal("epochs = 5\nseed = = 3\n").find(file_.string() + ":2"), std::string::npos);
}

TEST_F(ConfigFile, SaysSoWhenItIsNotThere) {
  Sample sample;
  EXPECT_THROW(parse(sample_command(sample), {"s", "--config", "/nowhere/x.toml"}), InvalidInput);
}

}  // namespace
}  // namespace ptyche
