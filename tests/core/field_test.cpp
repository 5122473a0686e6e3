#include "ptyche/core/field.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/support/refusal.h"

namespace ptyche {
namespace {

enum class Colour { red, green };

struct Everything {
  bool flag = false;
  std::int64_t count = 3;
  std::uint64_t seed = 1;
  double rate = 0.5;
  std::string word = "one";
  std::filesystem::path file;
  std::vector<double> centre;
  std::vector<std::int64_t> widths = {1, 2};
  std::optional<double> momentum;
  Colour colour = Colour::red;
};

std::vector<Field> fields(Everything& x) {
  return {{.name = "flag", .target = &x.flag, .help = "on or off"},
          {.name = "count", .target = &x.count, .range = {1, 64}, .aliases = {"n-of-them"}},
          {.name = "seed", .target = &x.seed},
          {.name = "rate", .target = &x.rate, .range = {0, 1}, .record_name = "speed"},
          {.name = "word", .target = &x.word, .choices = {"one", "two"}},
          {.name = "file", .target = &x.file, .affects_result = false},
          {.name = "centre", .target = &x.centre},
          {.name = "widths", .target = &x.widths, .range = {1, 512}},
          {.name = "momentum", .target = &x.momentum, .range = {0, 0.99}},
          {.name = "colour",
           .target = choice(x.colour, {{"red", Colour::red}, {"green", Colour::green}})}};
}

Everything unusual() {
  return {.flag = true,
          .count = 12,
          .seed = 18446744073709551615ull,
          .rate = 0.1 + 0.2,
          .word = "two",
          .file = "a b",
          .centre = {1.0 / 3.0, -7},
          .widths = {24, 48, 64},
          .momentum = 0.7,
          .colour = Colour::green};
}

std::string refusal_of(const std::string& name, const std::string& text) {
  Everything x;
  const auto all = fields(x);
  return message_of([&] { assign(*find_field(all, name), text); });
}

TEST(Field, ANumberMayCarryItsUnitWithAPrefix) {
  double length = 0, energy = 0, share = 0;
  const Field metres{.name = "length", .target = &length, .unit = "m"};
  const Field volts{.name = "energy", .target = &energy, .unit = "eV"};
  const std::vector<std::pair<std::string, double>> lengths{
      {"180um", 180e-6}, {"0.5A", 0.5e-10}, {"50nm", 50e-9}, {"3", 3}, {"2m", 2}, {"1e-3", 1e-3}};
  for (const auto& [text, value] : lengths) {
    assign(metres, text);
    EXPECT_DOUBLE_EQ(length, value) << text;
  }
  assign(volts, "8.8keV");
  EXPECT_DOUBLE_EQ(energy, 8800);
  EXPECT_EQ(message_of([&] { assign(metres, "3keV"); }),
            "--length: expected a number, found '3keV'");
  EXPECT_EQ(message_of([&] { assign({.name = "share", .target = &share}, "3m"); }),
            "--share: expected a number, found '3m'");
}

TEST(Field, TakesBackWhatValueTextGives) {
  Everything from = unusual(), to;
  const auto source = fields(from), target = fields(to);
  for (std::size_t i = 0; i < source.size(); ++i) assign(target[i], value_text(source[i]));
  EXPECT_EQ(key_of(to), key_of(from));
  EXPECT_EQ(to.rate, from.rate);
  EXPECT_EQ(to.file, from.file);
  EXPECT_EQ(to.centre, from.centre);
}

TEST(Field, ComesBackFromJsonWithoutLoss) {
  Everything from = unusual(), to;
  const nlohmann::json record = nlohmann::json::parse(to_json(fields(from)).dump());
  EXPECT_EQ(record["speed"], from.rate);
  EXPECT_EQ(record["widths"], from.widths);
  ptyche::from_json(fields(to), record);
  EXPECT_EQ(key_of(to), key_of(from));
}

TEST(Field, KeepsItsDefaultWhereARecordDoesNotHaveIt) {
  Everything x;
  ptyche::from_json(fields(x),
                    nlohmann::json::parse(R"({"count": 7, "unknown": 1, "rate": 0.25})"));
  EXPECT_EQ(x.count, 7);
  EXPECT_EQ(x.rate, 0.5) << "its record name is another one";
}

TEST(Field, RefusesWhatIsOutOfRangeNamingOptionRangeAndValue) {
  EXPECT_EQ(refusal_of("count", "65"), "--count: expected a whole number (1..64), found '65'");
  EXPECT_EQ(refusal_of("rate", "nan"), "--rate: expected a number (0..1), found 'nan'");
  EXPECT_EQ(refusal_of("widths", "24,0"), "--widths: expected a whole number (1..512), found '0'");
  EXPECT_EQ(refusal_of("momentum", "1"), "--momentum: expected a number (0..0.99), found '1'");
  EXPECT_EQ(refusal_of("momentum", "auto"), "");
  EXPECT_EQ(refusal_of("colour", "grean"),
            "--colour: expected one of red, green; found 'grean'; did you mean 'green'?");
}

TEST(RequireInRange, LooksAtTheValueThatAVariableHas) {
  Everything x;
  EXPECT_NO_THROW(require_in_range(x));
  x.rate = std::numeric_limits<double>::infinity();
  EXPECT_THROW(require_in_range(x), InvalidInput);
  x = {};
  x.word = "three";
  EXPECT_THROW(require_in_range(x), InvalidInput);
}

TEST(Key, NamesTheOptionsThatDifferAndNotThoseThatDoNotMatter) {
  Everything now, then;
  now.file = "elsewhere";
  EXPECT_EQ(key_of(now), key_of(then));
  now.count = 4;
  then.colour = Colour::green;
  EXPECT_EQ(differences(key_of(now), key_of(then)),
            (std::vector<std::string>{"count is 4 and was 3", "colour is red and was green"}));
  EXPECT_EQ(key_from(to_text(key_of(now))), key_of(now));
}

TEST(Key, NamesAnOptionThatOneOfTheTwoLacks) {
  EXPECT_EQ(differences({{"a", "1"}}, {{"b", "2"}}),
            (std::vector<std::string>{"a is 1 and was not there", "b is not there and was 2"}));
}

TEST(FindField, KnowsAliasesAndBothSpellings) {
  Everything x;
  const auto all = fields(x);
  EXPECT_EQ(find_field(all, "n_of_them")->name, "count");
  EXPECT_EQ(find_field(all, "of_them"), nullptr);
}

}  // namespace
}  // namespace ptyche
