
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ptyche/commands/command_line.h"
#include "tests/commands/sample_command.h"

namespace ptyche {
namespace {

TEST(OptionsAsJson, HoldsEveryArgumentAndOptionWithItsTypedPresentValue) {
  Sample sample;
  const Command command = sample_command(sample);
  sample.scan = "a \"b\".npz";
  sample.centre = {1.5, -2};
  sample.flip_x = true;
  const auto json = nlohmann::json::parse(options_as_json(command));
  EXPECT_EQ(json.size(), command.arguments.size() + command.options.size());
  EXPECT_EQ(json["SCAN"], "a \"b\".npz");
  EXPECT_EQ(json["epochs"], 60);
  EXPECT_EQ(json["learning-rate"], 1e-3);
  EXPECT_EQ(json["centre"], (std::vector<double>{1.5, -2}));
  EXPECT_EQ(json["flip-x"], true);
  EXPECT_EQ(json["device"], "auto");
}

TEST(OptionsAsJson, IsValidJsonWhateverTheValuesAre) {
  Sample sample;
  const Command command = sample_command(sample);
  sample.learning_rate = std::numeric_limits<double>::quiet_NaN();
  sample.note = "\xff not UTF-8";
  const auto json = nlohmann::json::parse(options_as_json(command));
  EXPECT_TRUE(json["learning-rate"].is_null());
}

TEST(SecretOptions, AreInNoRecord) {
  Sample sample;
  Command command = sample_command(sample);
  command.secret = {"device"};
  const auto json = nlohmann::json::parse(options_as_json(command));
  EXPECT_FALSE(json.contains("device"));
  EXPECT_TRUE(json.contains("epochs"));
}

TEST(SecretOptions, AreOverwrittenInTheProgramsWords) {
  std::vector<std::string> words = {"ptyche", "go",  "--key",       "abc",       "--keys",
                                    "abc",    "abc", "--key=abc=d", "--other=a", "--key"};
  const std::vector<std::string> expected = {"ptyche", "go",  "--key",       "xxx",       "--keys",
                                             "abc",    "abc", "--key=xxxxx", "--other=a", "--key"};
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  Command command;
  command.name = "go";
  hide_secrets({command}, static_cast<int>(words.size()), pointers.data());
  EXPECT_EQ(words[3], "abc") << "nothing is secret there";
  command.secret = {"key"};
  hide_secrets({command}, static_cast<int>(words.size()), pointers.data());
  EXPECT_EQ(words, expected);
}

}  // namespace
}  // namespace ptyche
