// Completion of verbs, options and choices in the shell, printed from the declared commands.
#pragma once

#include <string>
#include <vector>

#include "ptyche/commands/command.h"

namespace ptyche {

/// A script for bash: `source <(ptyche completion bash)`.
std::string bash_completion(const std::vector<Command>& commands);

/// The verb `completion SHELL`.
Command completion_command();

/// The hidden verb `__docs`, which prints docs/commands.md.
Command docs_command();

}  // namespace ptyche
