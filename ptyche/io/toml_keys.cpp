#include "ptyche/io/toml_keys.h"

#include <algorithm>

#include "ptyche/core/files.h"

namespace ptyche {

namespace {

constexpr int kDeepestTable = 16;  // of tables in tables; a recipe has three

}  // namespace

std::string text_in(const toml::node& node) {
  const auto* text = node.as_string();
  require(text != nullptr, "expected a text");
  return text->get();
}

std::vector<std::string> texts_in(const toml::node& node) {
  if (node.is_string()) return {text_in(node)};
  const auto* list = node.as_array();
  require(list != nullptr, "expected a text or a list of texts");
  std::vector<std::string> texts;
  for (const toml::node& element : *list) texts.push_back(text_in(element));
  return texts;
}

double number_in_toml(const toml::node& node) {
  const auto number = node.value<double>();
  require(number.has_value(), "expected a number");
  return *number;
}

std::int64_t whole_in_toml(const toml::node& node) {
  const auto* number = node.as_integer();
  require(number != nullptr, "expected a whole number");
  return number->get();
}

bool flag_in_toml(const toml::node& node) {
  const auto* flag = node.as_boolean();
  require(flag != nullptr, "expected true or false");
  return flag->get();
}

void TomlKeys::take(const char* key, const std::function<void(const toml::node&)>& use) {
  known_.emplace_back(key);
  if (const toml::node* node = table_.get(key))
    with_context(fmt::format("line {}: {}", node->source().begin.line, key), [&] { use(*node); });
}

void TomlKeys::text(const char* key, std::string& to) {
  take(key, [&](const toml::node& node) { to = text_in(node); });
}

void TomlKeys::texts(const char* key, std::vector<std::string>& to) {
  take(key, [&](const toml::node& node) { to = texts_in(node); });
}

void TomlKeys::number(const char* key, double& to) {
  take(key, [&](const toml::node& node) { to = number_in_toml(node); });
}

void TomlKeys::whole(const char* key, std::int64_t& to) {
  take(key, [&](const toml::node& node) { to = whole_in_toml(node); });
}

void TomlKeys::flag(const char* key, bool& to) {
  take(key, [&](const toml::node& node) { to = flag_in_toml(node); });
}

void TomlKeys::nothing_else() const {
  for (const auto& [key, node] : table_) {
    const std::string name(key.str());
    require(std::find(known_.begin(), known_.end(), name) != known_.end(),
            "line {}: '{}' is not a key of {}{}", node.source().begin.line, name, owner_,
            did_you_mean(name, known_));
  }
}

void with_toml(const std::string& text, const std::string& name,
               const std::function<void(const toml::table&)>& use) {
  require_shallow(text, name, kDeepestTable, '#');
  with_context(name, [&] {
    try {
      use(toml::parse(text));
    } catch (const toml::parse_error& error) {
      throw InvalidInput(
          fmt::format("line {}: {}", error.source().begin.line, error.description()));
    }
  });
}

}  // namespace ptyche
