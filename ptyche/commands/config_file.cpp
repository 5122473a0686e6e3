#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>

#include "ptyche/commands/option_value.h"
#include "ptyche/commands/parse.h"
#include "ptyche/commands/suggest.h"
#include "ptyche/core/error.h"
#include "ptyche/core/files.h"

namespace ptyche {
namespace {

/// The value as `assign` wants it: bare, a list joined by commas.
std::string as_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  const auto* list = node.as_array();
  require(list != nullptr, "expected a text, a number, true, false or a list of numbers");
  std::vector<std::string> words;
  for (const toml::node& element : *list) words.push_back(as_text(element));
  return fmt::format("{}", fmt::join(words, ","));
}

const Option& option_named(const Command& command, const std::string& key) {
  std::string name = key;
  std::replace(name.begin(), name.end(), '_', '-');
  std::vector<std::string> known;
  for (const Option& option : command.options) {
    if (option.name == name) return option;
    known.push_back(option.name);
  }
  throw InvalidInput(fmt::format("'{}' is not an option of ptyche {}{}", key, command.name,
                                 did_you_mean(name, known)));
}

toml::table parse_toml(const std::filesystem::path& file) {
  try {
    return toml::parse(read_bytes(file), file.string());
  } catch (const toml::parse_error& error) {
    throw InvalidInput(
        fmt::format("{}:{}: {}", file.string(), error.source().begin.line, error.description()));
  }
}

}  // namespace

std::set<std::string> read_config(const Command& command, const std::filesystem::path& file) {
  std::set<std::string> names;
  for (const auto& [key, node] : parse_toml(file)) {
    const std::string where = fmt::format("{}:{}", file.string(), node.source().begin.line);
    with_context(where, [&key = key, &node = node, &command, &names] {
      const Option& option = option_named(command, std::string(key.str()));
      assign(option, with_context("--" + option.name, [&] { return as_text(node); }));
      names.insert(option.name);
    });
  }
  return names;
}

}  // namespace ptyche
