#include "ptyche/core/quantity.h"

#include <gtest/gtest.h>

#include <numbers>

#include "tests/support/refusal.h"

namespace ptyche {
namespace {

TEST(MetresIn, KnowsAngstromInEverySpelling) {
  for (const char* word : {"A", "\u00c5", "\u212b", "A\u030a", "Ang", "ang", "ANG", "Angs", "Ang.",
                           "angstrom", "Angstrom", "ANGSTROM", "angstroms", "\u00c5ngstr\u00f6m",
                           "\u00e5ngstr\u00f6m", "\u00c5ngstrom", "Angstr\u00f6m", "\xC5"})
    EXPECT_EQ(metres_in(word).value_or(0), 1e-10) << word;
}

TEST(MetresIn, KnowsTheOtherUnitsWhateverTheCaseOfTheirLetters) {
  const std::vector<std::pair<std::string, double>> all{
      {"m", 1},        {"cm", 1e-2},         {"mm", 1e-3},      {"MM", 1e-3},
      {"um", 1e-6},    {"UM", 1e-6},         {"\u00b5m", 1e-6}, {"\u03bcm", 1e-6},
      {"\xB5m", 1e-6}, {"micron", 1e-6},     {"Microns", 1e-6}, {"nm", 1e-9},
      {"NM", 1e-9},    {"nanometers", 1e-9}, {"pm", 1e-12},     {"Metres", 1}};
  for (const auto& [word, metres] : all) EXPECT_EQ(metres_in(word).value_or(0), metres) << word;
  for (const char* word : {"", "px", "inch", "a", "motor", "x", "steps", "eV"})
    EXPECT_FALSE(metres_in(word)) << word;
}

TEST(LengthUnitOfName, IsWhatAColumnsNameEndsWith) {
  for (const char* name : {"x [A]", "x_A", "x (A)", "x[A]", "x/A", "x A", "pos_x_A", "x in A",
                           "x, A", "x {A}", "x ( A )"})
    EXPECT_EQ(length_unit_of_name(name), "A") << name;
  EXPECT_EQ(length_unit_of_name("x_ang"), "ang");
  EXPECT_EQ(length_unit_of_name("x_angstrom"), "angstrom");
  EXPECT_EQ(length_unit_of_name("x (\u00c5)"), "\u00c5");
  EXPECT_EQ(length_unit_of_name("Position X [um]"), "um");
  for (const char* name : {"x", "A", "x_motor", "x_1", "", "x [px]", "_", "x (steps)"})
    EXPECT_EQ(length_unit_of_name(name), "") << name;
}

TEST(FactorOf, KnowsDegreesAndThatVoltsOfElectronsAreSaidAsEnergies) {
  EXPECT_DOUBLE_EQ(factor_of("deg", "rad").value_or(0), std::numbers::pi / 180);
  EXPECT_EQ(factor_of("mrad", "rad").value_or(0), 1e-3);
  EXPECT_EQ(factor_of("keV", "V").value_or(0), 1e3);
  EXPECT_EQ(factor_of("kv", "V").value_or(0), 1e3);
  EXPECT_EQ(factor_of("KEV", "eV").value_or(0), 1e3);
  EXPECT_FALSE(factor_of("kV", "eV")) << "of an energy a voltage would be another wavelength";
  EXPECT_FALSE(factor_of("um", "px"));
}

std::string asked(const Sizes& sizes, double number, const std::string& unit,
                  const std::string& own) {
  return message_of([&] { require_real_size(sizes, "--it", number, unit, own); });
}

TEST(RequireRealSize, AsksForTheUnitThatBringsTheNumberToWhatInstrumentsHave) {
  EXPECT_EQ(
      asked(kPhotonEnergies, 8.8, "", "eV"),
      "--it: 8.8 eV? X-rays have 50 eV to 50 keV: 8.8keV? (of electrons give --voltage) (8.8eV "
      "with its unit is taken as it is)");
  EXPECT_EQ(asked(kDetectorPixels, 75, "", "m"),
            "--it: 75 m? detectors have pixels of 1 um to 5 mm: 75um?");
  EXPECT_EQ(asked(kDetectorPixels, 75, "m", "m"),
            "--it: 75m? detectors have pixels of 1 um to 5 mm: 75um?");
}

TEST(RequireRealSize, TakesRareSizesWithTheirUnitAndUsualOnesWithout) {
  EXPECT_EQ(asked(kPhotonEnergies, 1.96, "eV", "eV"), "") << "a HeNe laser";
  EXPECT_EQ(asked(kPhotonEnergies, 92, "", "eV"), "") << "extreme ultraviolet";
  EXPECT_EQ(asked(kPhotonEnergies, 8.8, "keV", "eV"), "");
  EXPECT_EQ(asked(kDistances, 300, "um", "m"), "") << "on a sensor";
  EXPECT_EQ(asked(kDistances, 0, "", "m"), "") << "0 = from the file";
  EXPECT_EQ(asked({}, 1e99, "", "m"), "") << "nothing is known of it";
}

TEST(SizesWithin, NamesEachUnitThatWouldDo) {
  EXPECT_EQ(sizes_within(0.4, "m", {5e-12, 2e-4}),
            (std::vector<std::string>{"0.4A", "0.4nm", "0.4um"}));
  EXPECT_EQ(sizes_within(-20, "m", {1e-11, 1e-6}), (std::vector<std::string>{"-20A", "-20nm"}));
  EXPECT_EQ(sizes_within(80, "V", {1e3, 3e6}), (std::vector<std::string>{"80kV"}));
}

TEST(SizeText, HasThePrefixThatBringsTheNumberToBetweenOneAndAThousand) {
  EXPECT_EQ(size_text(75e-6, "m"), "75 um");
  EXPECT_EQ(size_text(8800, "eV"), "8.8 keV");
  EXPECT_EQ(size_text(30, "m"), "30 m");
  EXPECT_EQ(size_text(1e-3, "m"), "1 mm");
  EXPECT_EQ(size_text(2100, "m"), "2100 m");
}

}  // namespace
}  // namespace ptyche
