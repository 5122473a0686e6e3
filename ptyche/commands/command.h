// A command is data: help, docs/commands.md and the shell completion are printed from it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "ptyche/core/field.h"

namespace ptyche {

/// One positional argument.
struct Argument {
  std::string name;  ///< upper case, e.g. SCAN
  /// A list takes all words that are left: only the last argument may be one.
  std::variant<std::string*, std::filesystem::path*, std::vector<std::filesystem::path>*> target;
  std::string help;
  bool required = true;  ///< only the last ones may be left out

  bool is_list() const {
    return std::holds_alternative<std::vector<std::filesystem::path>*>(target);
  }
  /// The words that were given, with blanks between.
  std::string text() const;
  /// Takes the words, one at least: one is used unless it is a list.
  void set(const std::vector<std::string>& words) const;
};

/// A verb of the command line. `arguments` and `options` point into a struct that `run` owns.
struct Command {
  std::string name, summary, description;
  std::vector<Argument> arguments;
  std::vector<Field> options;
  std::vector<std::string> references;
  std::function<void()> run;
  std::vector<std::string> basic = {};   ///< options on the short help page; empty: all
  bool hidden = false;                   ///< in no list; for scripts
  bool on_ranks = false;                 ///< several processes can do it together (ranks.h)
  std::vector<std::string> secret = {};  ///< options whose values no record may hold
};

/// A JSON object of all arguments and options with their present values, for provenance, but for
/// secret ones. Numbers that are not finite become null.
std::string options_as_json(const Command& command);

}  // namespace ptyche
