// Help, the page docs/commands.md and the shell completion, printed from the commands.
#pragma once

#include <string>
#include <vector>

#include "ptyche/commands/command.h"
#include "ptyche/commands/parse.h"

namespace ptyche {

/// `ptyche --help`: one line per verb, at most 80 columns.
std::string program_help(const std::vector<Command>& commands);

/// `ptyche VERB --help`: arguments, options with type, choices, range, unit and default. Call
/// before parsing, while the targets hold the defaults.
std::string command_help(const Command& command);

/// docs/commands.md: the same of all verbs, in Markdown.
std::string commands_page(const std::vector<Command>& commands);

/// TOML that --config takes: every option with its value, and where that is from as a comment.
std::string config_text(const Command& command, const OptionSources& sources);

/// A script for bash: `source <(ptyche completion bash)`.
std::string bash_completion(const std::vector<Command>& commands);

}  // namespace ptyche
