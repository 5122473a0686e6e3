#include "ptyche/core/field.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "ptyche/core/files.h"

namespace ptyche {
namespace {

using nlohmann::ordered_json;

constexpr const char* kAbsent = "auto";  // an optional without a value

/// "a whole number (1..64)" and the like, for messages.
template <typename T>
std::string expected_number(const Field& field) {
  const std::string range = range_text(field);
  std::string kind = std::is_same_v<T, double> ? "a number" : "a whole number";
  if (field.sizes.known())
    kind += fmt::format(" and its unit ({})", fmt::join(usual_units(field.unit), ", "));
  return kind + (range.empty() ? "" : " (" + range + ")");
}

/// Who wrote a text: of a user's number the unit may have been forgotten.
enum class Writer { user, program };

/// The word behind a number: "um" of "180 um".
std::string unit_behind(const char* number_end, const char* end) {
  while (number_end != end && *number_end == ' ') ++number_end;
  return {number_end, end};
}

template <typename T>
T parse_number(const Field& field, const std::string& text, Writer writer) {
  T value{};
  const char* end = text.data() + text.size();
  auto result = std::from_chars(text.data(), end, value);
  if constexpr (std::is_same_v<T, double>) {
    const std::string unit = unit_behind(result.ptr, end);
    const auto factor = unit.empty() ? std::optional(1.0) : factor_of(unit, field.unit);
    if (result.ec == std::errc() && factor && std::isfinite(value)) {
      if (writer == Writer::user)
        require_real_size(field.sizes, "--" + field.name, value, unit, field.unit);
      value *= *factor;
      result.ptr = end;
    }
  }
  const bool in_range =
      field.range.holds(static_cast<double>(value)) && std::isfinite(static_cast<double>(value));
  require(result.ec == std::errc() && result.ptr == end && in_range,
          "--{}: expected {}, found '{}'", field.name, expected_number<T>(field), text);
  return value;
}

bool parse_flag(const Field& field, const std::string& text) {
  const std::optional<bool> value = truth_of(text);
  require(value.has_value(), "--{}: expected true or false, found '{}'", field.name, text);
  return *value;
}

const std::string& parse_text(const Field& field, const std::string& text) {
  const auto& choices = choices_of(field);
  const bool known =
      choices.empty() || std::find(choices.begin(), choices.end(), text) != choices.end();
  require(known, "--{}: expected one of {}; found '{}'{}", field.name, fmt::join(choices, ", "),
          text, did_you_mean(text, choices));
  return text;
}

template <typename T>
std::vector<T> parse_list(const Field& field, const std::string& text, Writer writer) {
  std::vector<T> values;
  if (text.empty()) return values;
  for (const std::string& word : split(text, ','))
    values.push_back(parse_number<T>(field, word, writer));
  return values;
}

struct Assign {
  const Field& field;
  const std::string& text;
  Writer writer;

  void operator()(bool* target) const { *target = parse_flag(field, text); }
  void operator()(std::string* target) const { *target = parse_text(field, text); }
  void operator()(std::filesystem::path* target) const { *target = parse_text(field, text); }
  void operator()(std::optional<double>* target) const {
    if (text == kAbsent)
      target->reset();
    else
      *target = parse_number<double>(field, text, writer);
  }
  void operator()(const TextTarget& target) const {
    const std::string& known = parse_text(field, text);
    with_context("--" + field.name, [&] { target.set(known); });
  }
  template <typename T>
  void operator()(std::vector<T>* target) const {
    *target = parse_list<T>(field, text, writer);
  }
  template <typename T>
  void operator()(T* target) const {
    *target = parse_number<T>(field, text, writer);
  }
};

struct ValueText {
  std::string operator()(const std::string* target) const { return *target; }
  std::string operator()(const std::filesystem::path* target) const { return target->string(); }
  std::string operator()(const std::optional<double>* target) const {
    return target->has_value() ? fmt::format("{}", **target) : kAbsent;
  }
  std::string operator()(const TextTarget& target) const { return target.get(); }
  template <typename T>
  std::string operator()(const std::vector<T>* target) const {
    return fmt::format("{}", fmt::join(*target, ","));
  }
  template <typename T>
  std::string operator()(const T* target) const {
    return fmt::format("{}", *target);
  }
};

struct ToJson {
  ordered_json operator()(const std::filesystem::path* target) const { return target->string(); }
  ordered_json operator()(const TextTarget& target) const {
    if (target.numbers) return ordered_json::parse(fmt::format("[{}]", target.get()));
    return target.get();
  }
  ordered_json operator()(const std::optional<double>* target) const {
    return target->has_value() ? ordered_json(**target) : ordered_json(kAbsent);
  }
  template <typename T>
  ordered_json operator()(const T* target) const {
    return *target;
  }
};

struct Placeholder {
  std::string operator()(const bool*) const { return ""; }
  std::string operator()(const std::string*) const { return "TEXT"; }
  std::string operator()(const TextTarget& target) const { return target.numbers ? "X,X" : "TEXT"; }
  std::string operator()(const std::filesystem::path*) const { return "PATH"; }
  std::string operator()(const std::vector<double>*) const { return "X,X"; }
  std::string operator()(const std::vector<std::int64_t>*) const { return "N,N"; }
  std::string operator()(const double*) const { return "X"; }
  std::string operator()(const std::optional<double>*) const { return "X"; }
  template <typename T>
  std::string operator()(const T*) const {
    return "N";
  }
};

/// A JSON value as `assign` wants it: bare, a list joined by commas.
std::string text_of(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::vector<std::string> words;
  for (const nlohmann::json& element : value) words.push_back(text_of(element));
  return fmt::format("{}", fmt::join(words, ","));
}

std::string record_name(const Field& field) {
  std::string name = field.record_name.empty() ? field.name : field.record_name;
  std::ranges::replace(name, '-', '_');
  return name;
}

const std::string* value_in(const Key& key, const std::string& name) {
  const auto found =
      std::ranges::find_if(key, [&](const auto& entry) { return entry.first == name; });
  return found == key.end() ? nullptr : &found->second;
}

}  // namespace

const std::vector<std::string>& choices_of(const Field& field) {
  const auto* text = std::get_if<TextTarget>(&field.target);
  return text && field.choices.empty() ? text->choices : field.choices;
}

void assign(const Field& field, const std::string& text) {
  std::visit(Assign{field, text, Writer::user}, field.target);
}

void restore(const Field& field, const std::string& text) {
  std::visit(Assign{field, text, Writer::program}, field.target);
}

void assign_typed(const Field& field, const std::string& text) {
  assign(field, text);
  if (field.typed != nullptr) field.typed->insert(field.name);
}

std::string value_text(const Field& field) { return std::visit(ValueText{}, field.target); }

std::optional<bool> truth_of(const std::string& text) {
  for (const char* yes : {"true", "True", "yes", "on"})
    if (text == yes) return true;
  for (const char* no : {"false", "False", "no", "off"})
    if (text == no) return false;
  return std::nullopt;
}

std::string placeholder(const Field& field) { return std::visit(Placeholder{}, field.target); }

std::string range_text(const Field& field) {
  const auto [low, high] = field.range;
  if (std::isfinite(low) && std::isfinite(high)) return fmt::format("{}..{}", low, high);
  if (std::isfinite(low)) return fmt::format(">= {}", low);
  if (std::isfinite(high)) return fmt::format("<= {}", high);
  return "";
}

std::string toml_line(const Field& field) {
  ordered_json value = to_json(field);
  // Larger ones are no integers of TOML.
  if (value.is_number_unsigned() && value.get<std::uint64_t>() >> 63 != 0)
    value = value_text(field);
  const bool number = value.is_number_float();
  const bool special = number && !std::isfinite(value.get<double>());
  if (number && field.sizes.known() && value != 0 &&
      !field.sizes.bare.holds(std::abs(value.get<double>())))
    value = value_text(field) + field.unit;
  return field.name + " = " +
         (special ? value_text(field)
                  : value.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

void require_in_range(const std::vector<Field>& fields) {
  for (const Field& field : fields) restore(field, value_text(field));
}

const Field* find_field(const std::vector<Field>& fields, std::string name) {
  std::ranges::replace(name, '_', '-');
  for (const Field& field : fields)
    if (field.name == name || std::ranges::count(field.aliases, name) > 0) return &field;
  return nullptr;
}

std::vector<Field> without(std::vector<Field> fields, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    [[maybe_unused]] const auto removed =
        std::erase_if(fields, [&](const Field& field) { return field.name == name; });
    assert(removed == 1);
  }
  return fields;
}

std::vector<Field> joined(std::vector<std::vector<Field>> lists) {
  std::vector<Field> all;
  for (auto& list : lists)
    all.insert(all.end(), std::make_move_iterator(list.begin()),
               std::make_move_iterator(list.end()));
  return all;
}

std::vector<Field> remembering(std::vector<Field> fields, std::set<std::string>& typed,
                               const std::vector<std::string>& decide) {
  for (Field& field : fields) {
    field.typed = &typed;
    field.default_decides = decide.empty() || std::ranges::find(decide, field.name) != decide.end();
  }
  return fields;
}

std::vector<std::string> given(const std::vector<Field>& fields,
                               const std::vector<Field>& defaults) {
  assert(fields.size() == defaults.size());
  const auto says = [](const Field& field, const Field& usual) {
    const bool typed = field.typed != nullptr && field.typed->contains(field.name);
    return (typed && field.default_decides) || value_text(field) != value_text(usual);
  };
  std::vector<std::string> names;
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (!fields[i].internal && says(fields[i], defaults[i])) names.push_back(fields[i].name);
  return names;
}

Key key_of(const std::vector<Field>& fields) {
  Key key;
  for (const Field& field : fields)
    if (field.affects_result) key.emplace_back(field.name, value_text(field));
  return key;
}

std::vector<std::string> differences(const Key& now, const Key& then) {
  std::vector<std::string> found;
  for (const auto& [name, value] : now)
    if (const std::string* other = value_in(then, name); !other || *other != value)
      found.push_back(
          fmt::format("{} is {} and was {}", name, value, other ? *other : "not there"));
  for (const auto& [name, value] : then)
    if (!value_in(now, name))
      found.push_back(fmt::format("{} is not there and was {}", name, value));
  return found;
}

std::string to_text(const Key& key) {
  return ordered_json(key).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Key key_from(const std::string& text) {
  require_shallow(text, "the options of the run", 16);
  try {
    return nlohmann::json::parse(text).get<Key>();
  } catch (const nlohmann::json::exception&) {
    throw InvalidInput("the options of the run cannot be understood: " + text);
  }
}

ordered_json to_json(const Field& field) { return std::visit(ToJson{}, field.target); }

ordered_json to_json(const std::vector<Field>& fields) {
  ordered_json object = ordered_json::object();
  for (const Field& field : fields) object[record_name(field)] = to_json(field);
  return object;
}

void from_json(const std::vector<Field>& fields, const nlohmann::json& object) {
  for (const Field& field : fields) {
    const auto value = object.find(record_name(field));
    if (value != object.end() && !value->is_null()) restore(field, text_of(*value));
  }
}

}  // namespace ptyche
