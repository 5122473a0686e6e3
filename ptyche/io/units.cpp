#include "ptyche/io/units.h"

#include <algorithm>
#include <numbers>
#include <utility>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/quantity.h"
#include "ptyche/io/cxi.h"

namespace ptyche {
namespace {

using Units = std::vector<std::pair<const char*, double>>;

const Units& units_of(Measure measure) {
  static const Units energies = {{"eV", 1},
                                 {"ev", 1},
                                 {"keV", 1e3},
                                 {"kev", 1e3},
                                 {"KeV", 1e3},
                                 {"MeV", 1e6},
                                 {"GeV", 1e9},
                                 {"J", 1 / cxi::kJoulesPerEv},
                                 {"joule", 1 / cxi::kJoulesPerEv},
                                 {"Joule", 1 / cxi::kJoulesPerEv},
                                 {"joules", 1 / cxi::kJoulesPerEv}};
  static const Units times = {{"s", 1},       {"sec", 1},   {"second", 1},
                              {"seconds", 1}, {"ms", 1e-3}, {"us", 1e-6}};
  static const Units angles = {{"rad", 1},
                               {"radian", 1},
                               {"mrad", 1e-3},
                               {"deg", std::numbers::pi / 180},
                               {"degree", std::numbers::pi / 180},
                               {"degrees", std::numbers::pi / 180}};
  static const Units reciprocals = {{"1/m", 1},     {"m^-1", 1},   {"nm^-1", 1e9}, {"1/nm", 1e9},
                                    {"A^-1", 1e10}, {"1/A", 1e10}, {"Å^-1", 1e10}, {"1/Å", 1e10}};
  static const Units numbers = {{"1", 1}, {"px", 1}, {"pixel", 1}, {"pixels", 1}};
  switch (measure) {
    case Measure::energy:
      return energies;
    case Measure::time:
      return times;
    case Measure::angle:
      return angles;
    case Measure::reciprocal:
      return reciprocals;
    default:
      return numbers;
  }
}

std::string names_of(const Units& units) {
  std::string text;
  for (const auto& [name, value] : units) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

}  // namespace

double in_own_unit(const std::string& unit, Measure measure) {
  if (unit.empty()) return 1;
  if (measure == Measure::length || measure == Measure::wavelength) {
    const auto metres = metres_in(unit);
    require(metres.has_value(), "expected a unit of m, cm, mm, um, nm, A, pm, found {}", unit);
    return *metres;
  }
  const Units& units = units_of(measure);
  const auto found =
      std::find_if(units.begin(), units.end(), [&](const auto& one) { return unit == one.first; });
  require(
      found != units.end(), "expected a unit of {}, found {}", [&] { return names_of(units); },
      unit);
  return found->second;
}

}  // namespace ptyche
