#include "ptyche/commands/parse.h"

#include <gtest/gtest.h>

#include "ptyche/commands/checked_scan.h"
#include "ptyche/core/error.h"
#include "tests/commands/sample_command.h"
#include "tests/support/refusal.h"

namespace ptyche {
namespace {

using Words = std::vector<std::string>;

Sample parsed(const Words& words) {
  Sample sample;
  parse(sample_command(sample), words);
  return sample;
}

std::string device_that_may_be_bare(const Words& words) {
  Sample sample;
  Command command = sample_command(sample);
  for (Field& option : command.options)
    if (option.name == "device") option.implied = "cuda";
  parse(command, words);
  return sample.device;
}

/// The message with which `words` are refused; empty if they are accepted.
template <class Parse>
std::string refusal(const Words& words, const Parse& parse_words) {
  return message_of<UsageError>([&] { parse_words(words); });
}

TEST(Parse, KeepsTheDefaultsOfWhatIsNotGiven) {
  const Sample sample = parsed({"scan.npz"});
  EXPECT_EQ(sample.scan, "scan.npz");
  EXPECT_EQ(sample.note, "");
  EXPECT_EQ(sample.output_dir, "out");
  EXPECT_EQ(sample.epochs, 60);
  EXPECT_EQ(sample.learning_rate, 1e-3);
  EXPECT_FALSE(sample.flip_x);
}

TEST(Parse, AFlagTakesAValueAsAWordOfItsOwn) {
  EXPECT_TRUE(parsed({"--flip-x", "True", "scan.npz"}).flip_x);
  EXPECT_FALSE(parsed({"--flip_x", "False", "scan.npz"}).flip_x);
  EXPECT_EQ(parsed({"--flip-x", "scan.npz"}).scan, "scan.npz");
}

TEST(Parse, FillsEveryKindOfOption) {
  const Sample sample =
      parsed({"scan.npz", "hello", "--epochs", "7", "--seed", "18446744073709551615",
              "--learning-rate", "2.5e-4", "--centre", "31.5,-2", "--device", "cpu", "--flip-x"});
  EXPECT_EQ(sample.note, "hello");
  EXPECT_EQ(sample.epochs, 7);
  EXPECT_EQ(sample.seed, 18446744073709551615ull);
  EXPECT_EQ(sample.learning_rate, 2.5e-4);
  EXPECT_EQ(sample.centre, (std::vector<double>{31.5, -2}));
  EXPECT_EQ(sample.device, "cpu");
  EXPECT_TRUE(sample.flip_x);
}

TEST(Parse, TakesUnderscoresForHyphensInNamesButNotInValues) {
  EXPECT_EQ(parsed({"s", "--output_dir", "a_b-c"}).output_dir, "a_b-c");
  EXPECT_EQ(parsed({"s", "--output-dir=a_b-c"}).output_dir, "a_b-c");
}

TEST(Parse, TakesTheShortNameWithAndWithoutSpace) {
  EXPECT_EQ(parsed({"s", "-o", "here"}).output_dir, "here");
  EXPECT_EQ(parsed({"s", "-ohere"}).output_dir, "here");
}

TEST(Parse, LetsOptionsStandBeforeArguments) {
  const Sample sample = parsed({"--flip-x", "--epochs", "3", "s", "remark"});
  EXPECT_EQ(sample.scan, "s");
  EXPECT_EQ(sample.note, "remark");
}

TEST(Parse, TakesAFlagsValueAfterAnEqualsSign) {
  EXPECT_TRUE(parsed({"s", "--flip-x=true"}).flip_x);
  EXPECT_FALSE(parsed({"s", "--flip-x", "--flip-x=false"}).flip_x);
}

TEST(Parse, TakesABareOptionForWhatItImplies) {
  const auto device = device_that_may_be_bare;
  EXPECT_EQ(device({"--device", "scan.npz"}), "cuda");
  EXPECT_EQ(device({"scan.npz", "--device"}), "cuda");
  EXPECT_EQ(device({"--device", "cpu", "scan.npz"}), "cpu");
  EXPECT_EQ(device({"--device=cpu", "scan.npz"}), "cpu");
  EXPECT_EQ(device({"scan.npz"}), "auto");
}

TEST(Parse, TakesNoSlipOfAValueForAnArgument) {
  EXPECT_NE(
      refusal({"--device", "cud", "scan.npz"}, device_that_may_be_bare).find("did you mean 'cuda'"),
      std::string::npos);
}

TEST(Parse, LetsTheLastOfSeveralWin) {
  EXPECT_EQ(parsed({"s", "--epochs", "3", "--epochs", "4"}).epochs, 4);
}

TEST(Parse, TakesNegativeNumbersAsValues) {
  EXPECT_EQ(parsed({"s", "--centre", "-3,-4.5"}).centre, (std::vector<double>{-3, -4.5}));
}

TEST(Parse, KeepsSpacesInValues) {
  EXPECT_EQ(parsed({"/my data/scan 1.npz"}).scan, "/my data/scan 1.npz");
}

struct Refused {
  std::string what;
  Words words;
  Words expected;  ///< texts that the message must hold
};

TEST(Parse, RefusesWhatItCannotUnderstandAndNamesIt) {
  const std::vector<Refused> table = {
      {"no argument", {}, {"SCAN"}},
      {"an argument too many", {"s", "n", "third"}, {"third"}},
      {"an unknown option", {"s", "--epoch", "3"}, {"'--epoch'", "did you mean '--epochs'"}},
      {"an unknown option with =", {"s", "--lerning-rate=3"}, {"'--learning-rate'"}},
      {"a far-off option", {"s", "--zzzzzz"}, {"'--zzzzzz'"}},
      {"a missing value", {"s", "--epochs"}, {"--epochs", "missing"}},
      {"a word for a number", {"s", "--epochs", "ten"}, {"--epochs", "whole number", "'ten'"}},
      {"a fraction for a whole number", {"s", "--epochs", "1.5"}, {"whole number", "'1.5'"}},
      {"a number below its range", {"s", "--epochs", "0"}, {"1..1000", "'0'"}},
      {"a number above its range", {"s", "--epochs", "1001"}, {"1..1000", "'1001'"}},
      {"a negative seed", {"s", "--seed", "-1"}, {"--seed", "'-1'"}},
      {"a negative step", {"s", "--learning-rate", "-1"}, {">= 0", "'-1'"}},
      {"NaN", {"s", "--learning-rate", "nan"}, {"'nan'"}},
      {"infinity", {"s", "--learning-rate", "inf"}, {"'inf'"}},
      {"a number too large for its type", {"s", "--epochs", "99999999999999999999"}, {"--epochs"}},
      {"text behind a number", {"s", "--learning-rate", "1px"}, {"'1px'"}},
      {"an empty number", {"s", "--epochs="}, {"--epochs"}},
      {"a hole in a list", {"s", "--centre", "1,,2"}, {"--centre"}},
      {"a list that ends in a comma", {"s", "--centre", "1,2,"}, {"--centre"}},
      {"an unknown choice", {"s", "--device", "cud"}, {"auto, cpu, cuda", "did you mean 'cuda'"}},
      {"a flag that is no flag", {"s", "--flip-x=perhaps"}, {"--flip-x", "perhaps"}}};
  for (const Refused& row : table) {
    const std::string message = refusal(row.words, parsed);
    EXPECT_NE(message, "") << row.what << " was accepted";
    for (const std::string& text : row.expected)
      EXPECT_NE(message.find(text), std::string::npos) << row.what << ": " << message;
  }
}

TEST(Parse, SuggestsNothingForAWordThatIsFarFromAll) {
  EXPECT_EQ(refusal({"s", "--zzzzzz"}, parsed).find("did you mean"), std::string::npos);
}

TEST(Parse, WhatIsTypedIsGivenAlsoWhereItIsTheDefault) {
  const auto given_by = [](const Words& words) {
    ReadOptions options;
    parse(Command{.options = fields(options)}, words);
    return examine_options(options).given;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(given_by({}), Names{});
  EXPECT_EQ(given_by({"--scan-rotation", "0"}), Names{"scan-rotation"});
  EXPECT_EQ(given_by({"--flip-x=false", "--swap-xy", "--near-field=false"}),
            (Names{"flip-x", "near-field", "swap-xy"}));
  EXPECT_EQ(given_by({"--mask", "none", "--domain", "counts"}), (Names{"domain", "mask"}));
  // These words leave it to the file or the patterns, as if they were not there.
  EXPECT_EQ(given_by({"--mask", "file", "--domain", "auto", "--energy", "0"}), Names{});
}

TEST(Parse, AsksForARequiredOptionByName) {
  Sample sample;
  Command command = sample_command(sample);
  command.options[0].required = true;
  EXPECT_THROW(parse(command, {"s"}), UsageError);
  EXPECT_NO_THROW(parse(command, {"s", "--output-dir", "x"}));
}

}  // namespace
}  // namespace ptyche
