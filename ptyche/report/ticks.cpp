#include "ptyche/report/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ptyche {
namespace {

constexpr double kSlack = 1e-9;  // so that rounding does not lose a tick at an end of the axis

std::string with_real_minus(std::string text) {
  for (auto at = text.find('-'); at != std::string::npos; at = text.find('-', at + 1))
    text.replace(at, 1, "\u2212");
  return text;
}

/// 5: "\u2075". Superscripts 1, 2 and 3 stand apart from the others in Unicode.
std::string superscript(const std::string& digits) {
  const char* raised[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                          "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
  std::string text;
  for (const char digit : digits) text += digit == '-' ? "\u207b" : raised[digit - '0'];
  return text;
}

/// Four significant digits; very large and very small numbers as "1.2 \u00d7 10\u2075".
std::string significant(double value) {
  const std::string text = fmt::format("{:.4g}", value);
  const auto at = text.find('e');
  if (at == std::string::npos) return with_real_minus(text);
  const std::string power = std::to_string(std::stoi(text.substr(at + 1)));
  return with_real_minus(text.substr(0, at)) + " \u00d7 10" + superscript(power);
}

double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least) + kSlack));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1 - kSlack)) return factor * power;
  return 10 * power;
}

std::string tick_label(double value, double step) {
  if (std::abs(value) < step / 2) return "0";
  if (std::abs(value) >= 1e6 || step < 1e-4) return significant(value);
  const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + kSlack)));
  return with_real_minus(fmt::format("{:.{}f}", value, decimals));
}

}  // namespace

double round_length(double length) {
  const double power = std::pow(10, std::floor(std::log10(length) + kSlack));
  for (const double factor : {5.0, 2.0})
    if (factor * power <= length * (1 + kSlack)) return factor * power;
  return power;
}

std::vector<Tick> linear_ticks(double low, double high, int at_most) {
  const double step = round_step((high - low) / at_most);
  const double last = std::floor(high / step + kSlack);
  std::vector<Tick> ticks;
  for (double index = std::ceil(low / step - kSlack); index <= last; ++index)
    ticks.push_back({index * step, tick_label(index * step, step)});
  return ticks;
}

std::vector<Tick> log_ticks(double low, double high) {
  const bool wide = std::log10(high / low) > 3;
  std::vector<Tick> ticks;
  for (double decade = std::floor(std::log10(low)); decade <= std::log10(high); ++decade)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10, decade);
      if (value < low * (1 - kSlack) || value > high * (1 + kSlack)) continue;
      if (wide && factor != 1) continue;
      ticks.push_back({value, significant(value)});
    }
  return ticks;
}

LengthUnit length_unit(double extent_m) {
  if (extent_m >= 2e-3) return {"mm", 1e-3};
  if (extent_m >= 2e-6) return {"\u00b5m", 1e-6};
  return {"nm", 1e-9};
}

std::string format_length(double length_m) {
  const double largest_first[] = {1e-3, 1e-6};
  for (const double metres : largest_first)
    if (length_m >= metres * (1 - kSlack))
      return format_number(length_m / metres) + " " + (metres == 1e-3 ? "mm" : "\u00b5m");
  return format_number(length_m / 1e-9) + " nm";
}

std::string format_number(double value) {
  if (!std::isfinite(value)) return "not finite";
  if (value == std::round(value) && std::abs(value) < 1e6)
    return with_real_minus(fmt::format("{:.0f}", value + 0.0));
  return significant(value);
}

}  // namespace ptyche
