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

/// Runs `work`; an InvalidInput that leaves it becomes a UsageError: the words are at fault.
template <typename Work>
void as_usage(Work&& work) {
  try {
    work();
  } catch (const InvalidInput& error) {
    throw UsageError(error.what());
  }
}

/// Which options and arguments were given, and where: names of Command::options and ::arguments;
/// all others have their defaults.
struct OptionSources {
  std::set<std::string> by_file, by_words;
  bool show_config = false;  ///< the user wants to see the values, not to run
};

/// What a config file may hold for other verbs.
struct OtherVerbs {
  std::set<std::string> verbs;           ///< all there are: a table of such a name is one's own
  std::set<std::string> options;         ///< of any of them, words joined by '-'
  std::set<std::string> arguments = {};  ///< their keys: no alias of an option is meant by these
};

/// Fills the targets of `command` from `words` (those after the verb). Every command also takes
/// `--config FILE` and `--show-config`; a value is the default, else the file's, else the command
/// line's. Accepted: --name value, --name=value, -x value, an option's other names, --two_words for
/// --two-words, --flag, --flag=false; the last of several wins. Throws UsageError naming option,
/// expected and found; InvalidInput where the config file is at fault.
OptionSources parse(const Command& command, const std::vector<std::string>& words,
                    const OtherVerbs& others = {});

/// Sets options and arguments (`scan = "a.cxi"`) from a file whose keys are their names, and
/// returns what it set: TOML, or YAML (.yaml, .yml) with or without sections and dotted keys, as
/// PtychoPINN has it; what only PtychoPINN has is named in one line. One file may serve several
/// verbs: keys of the others are named in a line and left out, a table or section with a verb's
/// name is for that verb alone and wins over the rest. Keys that are `passed_over` are not looked
/// at. Throws InvalidInput with file and line for what is neither, unknown keys and values out of
/// range.
std::set<std::string> read_config(const Command& command, const std::filesystem::path& file,
                                  const std::set<std::string>& passed_over = {},
                                  const OtherVerbs& others = {});

/// An argument's key in a config file: its name in lower case.
std::string config_key(const Argument& argument);

/// The option that gives others their values. It is set before them, whatever stands first.
inline constexpr const char* kPresetOption = "preset";

}  // namespace ptyche
