#include "ptyche/commands/option_value.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "ptyche/commands/suggest.h"
#include "ptyche/core/error.h"
#include "ptyche/core/parts.h"

namespace ptyche {
namespace {

using nlohmann::ordered_json;

template <typename T>
constexpr bool is_number = std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint64_t> ||
                           std::is_same_v<T, double>;

template <typename T>
const char* kind_of_number() {
  return std::is_same_v<T, double> ? "a number" : "a whole number";
}

/// "a whole number (1..64)" and the like, for messages.
template <typename T>
std::string expected_number(const Option& option) {
  const std::string range = range_text(option);
  return kind_of_number<T>() + (range.empty() ? "" : " (" + range + ")");
}

template <typename T>
T parse_number(const Option& option, const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  const bool in_range = static_cast<double>(value) >= option.range.low &&
                        static_cast<double>(value) <= option.range.high &&
                        std::isfinite(static_cast<double>(value));
  require(result.ec == std::errc() && result.ptr == end && in_range,
          "--{}: expected {}, found '{}'", option.name, expected_number<T>(option), text);
  return value;
}

bool parse_flag(const Option& option, const std::string& text) {
  const std::optional<bool> value = truth_of(text);
  require(value.has_value(), "--{}: expected true or false, found '{}'", option.name, text);
  return *value;
}

std::string parse_text(const Option& option, const std::string& text) {
  const auto& choices = option.choices;
  const bool known =
      choices.empty() || std::find(choices.begin(), choices.end(), text) != choices.end();
  require(known, "--{}: expected one of {}; found '{}'{}", option.name, fmt::join(choices, ", "),
          text, did_you_mean(text, choices));
  return text;
}

std::vector<double> parse_list(const Option& option, const std::string& text) {
  std::vector<double> values;
  if (text.empty()) return values;
  for (const std::string& word : parts_of(text, ','))
    values.push_back(parse_number<double>(option, word));
  return values;
}

struct Assign {
  const Option& option;
  const std::string& text;

  void operator()(bool* target) const { *target = parse_flag(option, text); }
  void operator()(std::string* target) const { *target = parse_text(option, text); }
  void operator()(std::filesystem::path* target) const { *target = parse_text(option, text); }
  void operator()(std::vector<double>* target) const { *target = parse_list(option, text); }
  template <typename T>
  void operator()(T* target) const {
    *target = parse_number<T>(option, text);
  }
};

struct ValueText {
  std::string operator()(const std::string* target) const { return *target; }
  std::string operator()(const std::filesystem::path* target) const { return target->string(); }
  std::string operator()(const std::vector<double>* target) const {
    return fmt::format("{}", fmt::join(*target, ","));
  }
  template <typename T>
  std::string operator()(const T* target) const {
    return fmt::format("{}", *target);
  }
};

struct ToJson {
  ordered_json operator()(const std::filesystem::path* target) const { return target->string(); }
  template <typename T>
  ordered_json operator()(const T* target) const {
    return *target;
  }
};

struct Placeholder {
  std::string operator()(const bool*) const { return ""; }
  std::string operator()(const std::string*) const { return "TEXT"; }
  std::string operator()(const std::filesystem::path*) const { return "PATH"; }
  std::string operator()(const std::vector<double>*) const { return "X,X"; }
  std::string operator()(const double*) const { return "X"; }
  template <typename T>
  std::string operator()(const T*) const {
    return "N";
  }
};

}  // namespace

std::optional<bool> truth_of(const std::string& text) {
  for (const char* yes : {"true", "True", "yes", "on"})
    if (text == yes) return true;
  for (const char* no : {"false", "False", "no", "off"})
    if (text == no) return false;
  return std::nullopt;
}

void assign(const Option& option, const std::string& text) {
  std::visit(Assign{option, text}, option.target);
}

std::string value_text(const Option& option) { return std::visit(ValueText{}, option.target); }

std::string placeholder(const Option& option) { return std::visit(Placeholder{}, option.target); }

std::string range_text(const Option& option) {
  const auto [low, high] = option.range;
  if (std::isfinite(low) && std::isfinite(high)) return fmt::format("{}..{}", low, high);
  if (std::isfinite(low)) return fmt::format(">= {}", low);
  if (std::isfinite(high)) return fmt::format("<= {}", high);
  return "";
}

std::string options_as_json(const Command& command) {
  ordered_json values = ordered_json::object();
  for (const Argument& argument : command.arguments)
    values[argument.name] = std::visit(ToJson{}, argument.target);
  for (const Option& option : command.options)
    values[option.name] = std::visit(ToJson{}, option.target);
  return values.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace ptyche
