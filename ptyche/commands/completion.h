// Completion of verbs, options and choices in the shell, printed from the declared commands.
#pragma once

#include <string>
#include <vector>

#include "ptyche/commands/command.h"

namespace ptyche {

/// A script for bash: `source <(ptyche completion bash)`.
std::string bash_completion(const std::vector<Command>& commands);

}  // namespace ptyche
