// Shell completion, printed from the commands: verbs, the options of the verb, the choices of an
// option; file names for all else.
#pragma once

#include <string>
#include <vector>

#include "ptyche/commands/command.h"

namespace ptyche {

/// A script for the shell bash, zsh or fish; in bash and zsh `source <(ptyche completion bash)`, in
/// fish `ptyche completion fish | source`. Throws InvalidInput for another shell.
std::string completion(const std::string& shell, const std::vector<Command>& commands);

}  // namespace ptyche
