// From the program's arguments to the verb that runs.
#pragma once

#include <string>
#include <vector>

#include "ptyche/commands/command.h"

namespace ptyche {

/// Carries out `words`, the program's arguments without its name: prints help or version to stdout,
/// or parses the verb's options and runs it. Throws UsageError and whatever the verb throws.
void run_command_line(const std::vector<Command>& commands, const std::vector<std::string>& words);

}  // namespace ptyche
