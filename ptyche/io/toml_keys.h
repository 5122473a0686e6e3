// Tables of TOML in which nothing is overlooked: recipes, universes.
#pragma once

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ptyche/core/error.h"

namespace ptyche {

/// What a node holds. Throw InvalidInput "expected a text" or the like for another kind.
std::string text_in(const toml::node& node);
std::vector<std::string> texts_in(const toml::node& node);  ///< one text stands for a list of one
double number_in_toml(const toml::node& node);
std::int64_t whole_in_toml(const toml::node& node);
bool flag_in_toml(const toml::node& node);

/// A table whose keys are taken one by one; one that is left over is unknown.
class TomlKeys {
 public:
  /// `owner` is what the keys are of, for messages: "a recipe". The table outlives this.
  TomlKeys(const toml::table& table, std::string owner) : table_(table), owner_(std::move(owner)) {}

  /// Calls `use` with the node if it is there; what it throws begins with "line L: KEY".
  void take(const char* key, const std::function<void(const toml::node&)>& use);
  void text(const char* key, std::string& to);
  void texts(const char* key, std::vector<std::string>& to);
  void number(const char* key, double& to);
  void whole(const char* key, std::int64_t& to);
  void flag(const char* key, bool& to);

  /// Throws InvalidInput naming line and key, and the key that was meant, for the first one that
  /// has not been asked for.
  void nothing_else() const;

 private:
  const toml::table& table_;
  std::string owner_;
  std::vector<std::string> known_;
};

/// The text as a table, or InvalidInput "NAME: line L: ..." for what is no TOML or too deep.
///   use  takes the table; what it throws begins with the name, too
void with_toml(const std::string& text, const std::string& name,
               const std::function<void(const toml::table&)>& use);

}  // namespace ptyche
