#include "ptyche/core/quantity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numbers>
#include <utility>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

using Units = std::vector<std::pair<std::string, double>>;

const Units& prefixes() {
  static const Units all{{"", 1},          {"p", 1e-12},     {"n", 1e-9},
                         {"u", 1e-6},      {"\u00b5", 1e-6},  // micro sign
                         {"\u03bc", 1e-6},                    // Greek mu
                         {"m", 1e-3},      {"k", 1e3},       {"M", 1e6}};
  return all;
}

/// In small letters. The sign of Angstrom is the letter A with a ring, or with one behind it that
/// stands for itself.
const Units& length_words() {
  static const Units all{{"meter", 1},
                         {"metre", 1},
                         {"meters", 1},
                         {"metres", 1},
                         {"cm", 1e-2},
                         {"centimeter", 1e-2},
                         {"centimetre", 1e-2},
                         {"millimeter", 1e-3},
                         {"millimetre", 1e-3},
                         {"millimeters", 1e-3},
                         {"millimetres", 1e-3},
                         {"micron", 1e-6},
                         {"microns", 1e-6},
                         {"micrometer", 1e-6},
                         {"micrometre", 1e-6},
                         {"micrometers", 1e-6},
                         {"micrometres", 1e-6},
                         {"nanometer", 1e-9},
                         {"nanometre", 1e-9},
                         {"nanometers", 1e-9},
                         {"nanometres", 1e-9},
                         {"ang", 1e-10},
                         {"angs", 1e-10},
                         {"angst", 1e-10},
                         {"angstr", 1e-10},
                         {"angstrom", 1e-10},
                         {"angstroms", 1e-10},
                         {"\u00e5", 1e-10},
                         {"\u00e5ngstrom", 1e-10},
                         {"angstr\u00f6m", 1e-10},
                         {"\u00e5ngstr\u00f6m", 1e-10},
                         {"\u00e5ngstr\u00f6ms", 1e-10},
                         {"picometer", 1e-12},
                         {"picometre", 1e-12}};
  return all;
}

const Units& angle_words() {
  static const Units all{{"deg", std::numbers::pi / 180},
                         {"degree", std::numbers::pi / 180},
                         {"degrees", std::numbers::pi / 180},
                         {"\u00b0", std::numbers::pi / 180}};
  return all;
}

std::optional<double> value_in(const Units& units, const std::string& word) {
  const auto found = std::ranges::find(units, word, &Units::value_type::first);
  return found == units.end() ? std::nullopt : std::optional(found->second);
}

/// Small letters, one sign for each of those that look the same.
std::string plain(std::string word) {
  static const std::vector<std::pair<std::string, std::string>> kSame{
      {"A\u030a", "\u00e5"}, {"a\u030a", "\u00e5"}, {"\u212b", "\u00e5"},
      {"\u00c5", "\u00e5"},  {"o\u0308", "\u00f6"}, {"\u00d6", "\u00f6"}};
  for (const auto& [from, to] : kSame)
    for (std::size_t at = word.find(from); at != std::string::npos; at = word.find(from))
      word.replace(at, from.size(), to);
  std::ranges::transform(word, word.begin(), [](unsigned char c) {
    return static_cast<char>(c < 128 ? std::tolower(c) : c);
  });
  if (word.size() > 1 && word.ends_with('.')) word.pop_back();
  return word;
}

/// "keV" of "eV"; in other letters too, where m and M are not to be told apart.
std::optional<double> prefixed(const std::string& word, const std::string& own) {
  for (const auto& [prefix, factor] : prefixes())
    if (word == prefix + own) return factor;
  for (const auto& [prefix, factor] : prefixes())
    if (prefix != "m" && prefix != "M" && plain(word) == plain(prefix + own)) return factor;
  return std::nullopt;
}

}  // namespace

std::optional<double> metres_in(const std::string& word) {
  if (word == "A" || word == "\xC5") return 1e-10;  // Latin-1, too
  if (word.starts_with('\xB5')) return metres_in("u" + word.substr(1));
  if (const auto factor = prefixed(word, "m")) return factor;
  if (word == "MM") return 1e-3;
  return value_in(length_words(), plain(word));
}

std::string length_unit_of_name(const std::string& name) {
  const std::size_t last = name.find_last_not_of(" ])}");
  if (last == std::string::npos) return {};
  const std::size_t before = name.find_last_of(" _([{/-.,:", last);
  if (before == std::string::npos) return {};
  const std::string word = name.substr(before + 1, last - before);
  return metres_in(word) ? word : "";
}

std::optional<double> factor_of(const std::string& word, const std::string& own) {
  if (own.empty() || own == "px") return std::nullopt;
  if (own == "m") return metres_in(word);
  if (own == "rad")
    if (const auto factor = value_in(angle_words(), plain(word))) return factor;
  if (own == "V")  // of electrons both are said
    if (const auto factor = prefixed(word, "eV")) return factor;
  return prefixed(word, own);
}

std::vector<std::string> usual_units(const std::string& own) {
  if (own == "m") return {"A", "nm", "um", "mm", "cm", "m"};
  if (own == "rad") return {"urad", "mrad", "rad", "deg"};
  return {own, "k" + own, "M" + own};
}

std::string size_text(double value, const std::string& own) {
  for (const auto& [prefix, factor] : prefixes()) {
    const double shown = std::abs(value) / factor;
    const bool used = !(own == "m" && factor > 1);  // nobody stands a detector at kilometres
    if (used && shown >= 1 - 1e-9 && shown < 1000 * (1 - 1e-9))
      return fmt::format("{:.6g} {}{}", value / factor, prefix, own);
  }
  return fmt::format("{:.6g} {}", value, own);
}

std::vector<std::string> sizes_within(double number, const std::string& own, const Range& range) {
  constexpr double kRounding = 1e-9;
  std::vector<std::string> sizes;
  for (const std::string& unit : usual_units(own)) {
    const double size = std::abs(number) * *factor_of(unit, own);
    if (size >= range.low * (1 - kRounding) && size <= range.high * (1 + kRounding))
      sizes.push_back(fmt::format("{}{}", number, unit));
  }
  return sizes;
}

void require_real_size(const Sizes& sizes, const std::string& name, double number,
                       const std::string& unit, const std::string& own) {
  constexpr double kRounding = 1e-9;
  if (!sizes.known() || number == 0) return;
  const Range& range = unit.empty() ? sizes.bare : sizes.any;
  const double size = std::abs(number) * (unit.empty() ? 1 : factor_of(unit, own).value_or(1));
  if (size >= range.low * (1 - kRounding) && size <= range.high * (1 + kRounding)) return;
  std::vector<std::string> meant = sizes_within(number, own, sizes.bare);
  if (meant.empty()) meant = sizes_within(number, own, sizes.any);
  std::string text =
      fmt::format("{}: {}{}? {} {} to {}", name, number, unit.empty() ? " " + own : unit,
                  sizes.whose, size_text(sizes.bare.low, own), size_text(sizes.bare.high, own));
  if (!meant.empty()) text += fmt::format(": {}?", fmt::join(meant, " or "));
  if (*sizes.hint != '\0') text += fmt::format(" ({})", sizes.hint);
  if (unit.empty() && sizes.any.holds(size))
    text += fmt::format(" ({}{} with its unit is taken as it is)", number, own);
  throw InvalidInput(text);
}

}  // namespace ptyche
