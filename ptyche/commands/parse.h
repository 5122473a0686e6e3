// From the words of a command line, and a config file, to the variables of a command.
#pragma once

#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "ptyche/commands/command.h"

namespace ptyche {

/// A command line that cannot be understood; `main` prints it and exits with 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Fills the targets of `command` from `words` (those after the verb). Every command also takes
/// `--config FILE.toml`; a value is the default, else the file's, else the command line's.
/// Accepted: --name value, --name=value, -x value, --two_words for --two-words, --flag,
/// --flag=false; the last of several wins. Throws UsageError naming option, expected and found;
/// InvalidInput where the config file is at fault.
void parse(const Command& command, const std::vector<std::string>& words);

/// Sets options from a flat TOML file whose keys are option names, and returns the names it set.
/// Throws InvalidInput with file and line for bad TOML, unknown keys and values out of range.
std::set<std::string> read_config(const Command& command, const std::filesystem::path& file);

}  // namespace ptyche
