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
  std::variant<std::string*, std::filesystem::path*> target;
  std::string help;
  bool required = true;  ///< only the last ones may be left out
};

/// A verb of the command line. `arguments` and `options` point into a struct that `run` owns.
struct Command {
  std::string name, summary, description;
  std::vector<Argument> arguments;
  std::vector<Field> options;
  std::vector<std::string> references;
  std::function<void()> run;
  bool hidden = false;  ///< in no list; for scripts
};

/// A JSON object of all arguments and options with their present values, for provenance. Numbers
/// that are not finite become null.
std::string options_as_json(const Command& command);

}  // namespace ptyche
