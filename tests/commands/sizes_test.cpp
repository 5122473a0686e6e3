// Every option with a physical unit knows the sizes that instruments have.
#include <gtest/gtest.h>

#include <fstream>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/parse.h"
#include "ptyche/core/error.h"
#include "tests/support/refusal.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

const std::vector<Command>& commands() {
  static const std::vector<Command> all = all_commands();
  return all;
}

const Command& command_named(const std::string& name) {
  for (const Command& command : commands())
    if (command.name == name) return command;
  throw InvalidInput("no command " + name);
}

/// What is said of `option` given as `value`; empty if it is taken.
std::string said(const std::string& verb, const std::string& option, const std::string& value) {
  const Field* const field = find_field(command_named(verb).options, option);
  if (field == nullptr) return "no option " + option;
  const std::string before = value_text(*field);
  const std::string message = message_of([&] { assign(*field, value); });
  restore(*field, before);
  return message;
}

TEST(Sizes, AreKnownOfEveryOptionOfALengthAnEnergyAVoltageOrABeamsAngle) {
  int known = 0;
  for (const Command& command : commands())
    for (const Field& option : command.options) {
      const bool physical = option.unit == "m" || option.unit == "eV" || option.unit == "V" ||
                            option.name == "semi-angle";
      EXPECT_EQ(option.sizes.known(), physical) << command.name << " --" << option.name;
      if (!option.sizes.known()) continue;
      ++known;
      EXPECT_LE(option.sizes.any.low, option.sizes.bare.low) << option.name;
      EXPECT_GE(option.sizes.any.high, option.sizes.bare.high) << option.name;
    }
  EXPECT_GT(known, 50);
}

struct Slip {
  const char *option, *value, *suggested;
};

TEST(Sizes, AForgottenOrAWrongUnitIsAskedForWithTheSameNumber) {
  const std::vector<Slip> slips{{"energy", "8.8", "8.8keV"},
                                {"energy", "12", "12keV"},
                                {"energy", "0.71", "0.71keV"},
                                {"energy", "80000", "--voltage"},
                                {"energy", "8.8MeV", "8.8keV"},
                                {"distance", "2100", "2100mm"},
                                {"distance", "72", "72mm"},
                                {"distance", "75m", "75mm"},
                                {"detector-pixel", "75", "75um"},
                                {"detector-pixel", "55", "55um"},
                                {"detector-pixel", "0.172", "0.172mm"},
                                {"detector-pixel", "75m", "75um"},
                                {"detector-pixel", "75mm", "75um"},
                                {"voltage", "80", "80kV"},
                                {"voltage", "300", "300kV"},
                                {"voltage", "0.2", "0.2MV"},
                                {"voltage", "80V", "80kV"},
                                {"scan-step", "0.4", "0.4A"},
                                {"scan-step", "0.4", "0.4nm"},
                                {"scan-step", "2", "2um"},
                                {"scan-step", "2m", "2um"},
                                {"scan-step", "0.001", "0.001mm"},
                                {"semi-angle", "21.4", "21.4mrad"},
                                {"semi-angle", "1.2", "1.2deg"},
                                {"semi-angle", "0.02mrad", "0.02rad"},
                                {"source-distance", "45", "45mm"}};
  for (const char* verb : {"info", "reconstruct", "solve", "train", "infer", "live", "evaluate"})
    for (const auto& [option, value, suggested] : slips) {
      if (find_field(command_named(verb).options, option) == nullptr) continue;
      EXPECT_NE(said(verb, option, value).find(suggested), std::string::npos)
          << verb << " --" << option << " " << value << ": " << said(verb, option, value);
    }
}

TEST(Sizes, ForgottenUnitsOfOpticsSimulationsAndKeptProbesAreAskedFor) {
  const std::vector<std::pair<std::string, Slip>> slips{
      {"solve", {"defocus", "20", "20nm"}},
      {"solve", {"defocus", "-150", "-150A"}},
      {"solve", {"cs", "1.2", "1.2mm"}},
      {"solve", {"lens-diameter", "180", "180um"}},
      {"solve", {"outermost-zone", "50", "50nm"}},
      {"solve", {"focal-length", "60", "60mm"}},
      {"solve", {"central-stop", "40", "40um"}},
      {"solve", {"beam-diameter", "1.5", "1.5um"}},
      {"simulate", {"energy", "8.8", "8.8keV"}},
      {"simulate", {"detector-pixel", "75", "75um"}},
      {"simulate", {"distance", "2100", "2100mm"}},
      {"probes", {"energy", "6.2", "6.2keV"}},
      {"probes", {"detector-pixel", "55", "55um"}}};
  for (const auto& [verb, slip] : slips)
    EXPECT_NE(said(verb, slip.option, slip.value).find(slip.suggested), std::string::npos)
        << verb << " --" << slip.option << " " << slip.value << ": "
        << said(verb, slip.option, slip.value);
}

TEST(Sizes, HonestValuesPass) {
  const std::vector<std::pair<const char*, const char*>> honest{
      {"energy", "8800"},          {"energy", "92"},
      {"energy", "280"},           {"energy", "17keV"},
      {"energy", "1.96eV"},        {"energy", "2.33 eV"},
      {"energy", "30eV"},          {"energy", "60keV"},
      {"energy", "8.8KEV"},        {"energy", "0"},
      {"distance", "2.1"},         {"distance", "0.001"},
      {"distance", "30"},          {"distance", "7.2m"},
      {"distance", "500um"},       {"distance", "58mm"},
      {"detector-pixel", "75e-6"}, {"detector-pixel", "1e-6"},
      {"detector-pixel", "0.001"}, {"detector-pixel", "55um"},
      {"detector-pixel", "150nm"}, {"detector-pixel", "1.4mm"},
      {"voltage", "5000"},         {"voltage", "30kV"},
      {"voltage", "1.2MV"},        {"voltage", "300keV"},
      {"voltage", "80kv"},         {"scan-step", "5e-12"},
      {"scan-step", "0.05A"},      {"scan-step", "1e-4"},
      {"scan-step", "100um"},      {"scan-step", "0.5mm"},
      {"semi-angle", "0.0214"},    {"semi-angle", "21.4mrad"},
      {"semi-angle", "100urad"},   {"semi-angle", "1.2deg"},
      {"source-distance", "0.05"}, {"source-distance", "45m"},
      {"source-distance", "2um"},  {"defocus", "-15nm"},
      {"defocus", "2e-8"},         {"cs", "-5um"}};
  for (const auto& [option, value] : honest)
    EXPECT_EQ(said("solve", option, value), "") << option << " " << value;
}

TEST(Sizes, OfAConfigFileAreAskedForAndWhatShowConfigWritesIsTakenBack) {
  const TestFolder folder;
  const auto write = [&](const std::string& text) {
    std::ofstream(folder / "c.toml") << text << "\n";
    return folder / "c.toml";
  };
  const Command& solve = command_named("solve");
  const Field& energy = *find_field(solve.options, "energy");
  const std::string message = message_of([&] { read_config(solve, write("energy = 8.8")); });
  EXPECT_NE(message.find("8.8keV"), std::string::npos) << message;
  assign(energy, "1.96eV");
  EXPECT_EQ(toml_line(energy), "energy = \"1.96eV\"");
  EXPECT_EQ(message_of([&] { read_config(solve, write(toml_line(energy))); }), "");
  EXPECT_EQ(value_text(energy), "1.96");
  restore(energy, "8800");
  EXPECT_EQ(toml_line(energy), "energy = 8800.0");
  restore(energy, "0");
}

}  // namespace
}  // namespace ptyche
