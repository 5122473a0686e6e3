
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace ptyche
