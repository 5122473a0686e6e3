#include "ptyche/commands/option_value.h"

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

TEST(Assign, TakesBackWhatValueTextGives) {
  Sample from, to;
  from.learning_rate = 0.1 + 0.2;
  from.centre = {1.0 / 3.0, -7};
  from.seed = 18446744073709551615ull;
  from.flip_x = true;
  from.output_dir = "a b";
  const Command source = sample_command(from), target = sample_command(to);
  for (std::size_t i = 0; i < source.options.size(); ++i)
    assign(target.options[i], value_text(source.options[i]));
  EXPECT_EQ(to.learning_rate, from.learning_rate);
  EXPECT_EQ(to.centre, from.centre);
  EXPECT_EQ(to.seed, from.seed);
  EXPECT_EQ(to.flip_x, from.flip_x);
  EXPECT_EQ(to.output_dir, from.output_dir);
}

}  // namespace
}  // namespace ptyche
