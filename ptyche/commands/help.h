// Help and the page docs/commands.md, printed from the commands.
#pragma once

#include <string>
#include <vector>

#include "ptyche/commands/command.h"
#include "ptyche/commands/parse.h"

namespace ptyche {

/// What the program does, as the end of a sentence.
inline constexpr const char* kWhatItDoes =
    "turns a ptychography scan into the complex image of the sample";

/// An exit code and what it says, for scripts.
struct ExitCode {
  int code;
  const char* meaning;
};
inline constexpr ExitCode kExitCodes[] = {{0, "done (an image is good or doubtful)"},
                                          {1, "something is wrong with the input"},
                                          {2, "the command line is not understood"},
                                          {3, "a fault of the program"},
                                          {4, "the image is written but failed (docs/verdict.md)"},
                                          {130, "interrupted"}};

/// An option in a list: "-o, --output PATH" and "folder of the results (default out)".
struct OptionEntry {
  std::string form, meaning;
};

/// The verb's options, then those that every verb has.
std::vector<OptionEntry> option_entries(const Command& command);

/// "ptyche solve SCAN --output-dir PATH [OPTIONS]".
std::string usage_line(const Command& command);

/// A summary as a sentence: first letter in upper case, full stop.
std::string sentence(std::string summary);

/// `ptyche --help`: one line per verb, at most 80 columns.
std::string program_help(const std::vector<Command>& commands);

/// `ptyche --version`: "ptyche 0.1.0 (COMMIT)".
std::string version_text();

/// `ptyche VERB --help`: arguments and the basic options with type, choices, range, unit and
/// default, at most 40 lines. Call before parsing, while the targets hold the defaults.
std::string command_help(const Command& command);

/// `ptyche VERB --help-all`: the description, every option and the references.
std::string full_command_help(const Command& command);

/// The pages of all verbs, of the program, its version and the shells' completions as a C++ table,
/// for ptyche/launch.cpp.
std::string help_pages_source(const std::vector<Command>& commands);

/// docs/commands.md: the same of all verbs, in Markdown.
std::string commands_page(const std::vector<Command>& commands);

/// One page for man(1): "ptyche-solve.1" and its text.
struct ManPage {
  std::string file, text;
};

/// The same as manual pages: one of the program, one of each verb that is not hidden.
std::vector<ManPage> man_pages(const std::vector<Command>& commands);

/// TOML that --config takes: every option with its value, and where that is from as a comment.
std::string config_text(const Command& command, const OptionSources& sources);

}  // namespace ptyche
