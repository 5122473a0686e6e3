// Numbers with physical units: how the units are written, and which sizes instruments have. A
// number whose unit was forgotten is off by powers of ten, and the image that it gives is none.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace ptyche {

/// Allowed values of a number (of every number of a vector), both ends included.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool holds(double value) const { return value >= low && value <= high; }
};

/// The sizes of a physical quantity, of numbers without their sign in its own unit (m, eV, V, rad).
/// 0 is no size: it stands for "not given" and always passes.
struct Sizes {
  const char* whose = "";  ///< "X-rays have"; empty = every number passes
  Range bare = {};         ///< of a number without a unit: what nearly all instruments have
  Range any = {};          ///< of one with a unit, which says that it is meant
  const char* hint = "";   ///< what else may have been meant: "of electrons give --voltage"

  bool known() const { return *whose != '\0'; }
};

// Of options that several verbs have; others stand beside their Field.

/// Visible light (1.5 to 3 eV) and electrons' wavelengths as photons of (to 2 MeV) are rare.
inline constexpr Sizes kPhotonEnergies{
    "X-rays have", {50, 5e4}, {1, 3e6}, "of electrons give --voltage"};
inline constexpr Sizes kDistances{"detectors stand behind the sample by", {1e-3, 30}, {1e-6, 60}};
inline constexpr Sizes kDetectorPixels{"detectors have pixels of", {1e-6, 5e-3}, {1e-8, 2e-2}};
inline constexpr Sizes kSourceDistances{
    "a focus lies before the sample by", {1e-5, 10}, {1e-9, 1e3}};

/// What one of a unit of length is in metres: "um" 1e-6; Angstrom in every spelling. Large letters
/// and small ones are the same but for m and M. Nothing for a word that is none.
std::optional<double> metres_in(const std::string& word);

/// The unit of length that the name of a column or an array ends with: "A" of "x [A]", "x_A",
/// "x/A", "x in A". Empty where there is none.
std::string length_unit_of_name(const std::string& name);

/// What one of a unit is in the quantity's own ("m", "eV", "V", "rad", ...), with every prefix from
/// p to M: ("keV", "eV") is 1000. Nothing for a unit of another quantity.
std::optional<double> factor_of(const std::string& word, const std::string& own);

/// The units in which its sizes are mostly written: {"eV", "keV", "MeV"}.
std::vector<std::string> usual_units(const std::string& own);

/// "75 um", "8.8 keV": with the prefix that brings the number to 1 .. 1000.
std::string size_text(double value, const std::string& own);

/// The number under each unit that brings it into the range: {"75um"}.
std::vector<std::string> sizes_within(double number, const std::string& own, const Range& range);

/// Throws InvalidInput that asks for the unit that was meant, where no instrument has this size.
///   name    what the number is, "--energy"
///   number  as it was written, in `unit`; empty = none was written, and it counts as `own`
void require_real_size(const Sizes& sizes, const std::string& name, double number,
                       const std::string& unit, const std::string& own);

}  // namespace ptyche
