// A command is data: help, docs/commands.md and the shell completion are printed from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

namespace ptyche {

/// Where an option's value goes; the pointed-to variable's value at declaration is the default.
/// A bool is a flag; a vector is written 1.5,2 on the command line and [1.5, 2] in a TOML file.
using OptionTarget = std::variant<bool*, std::int64_t*, std::uint64_t*, double*, std::string*,
                                  std::filesystem::path*, std::vector<double>*>;

/// Allowed values of a number (of every number of a vector), both ends included.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// One option of one command.
struct Option {
  std::string name;  ///< without dashes, words joined by '-'; '_' is accepted too when parsing
  OptionTarget target;
  std::string unit;                       ///< "px", "m", "photons"; empty = none
  std::string help;                       ///< one line
  std::vector<std::string> choices = {};  ///< allowed values of a text; empty = any
  Range range = {};
  std::string short_name = {};  ///< one letter: "o" is -o; empty = none
  bool required = false;        ///< must be given, on the command line or in the config file
  std::string implied = {};     ///< of the choices, what the bare option means; empty = none
  std::vector<std::string> aliases = {};  ///< other names, as PtychoPINN calls it
};

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
  std::vector<Option> options;
  std::vector<std::string> references;
  std::function<void()> run;
  bool hidden = false;  ///< in no list; for scripts
};

}  // namespace ptyche
