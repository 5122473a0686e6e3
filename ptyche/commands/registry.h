// The list of all verbs.
#pragma once

#include <vector>

#include "ptyche/commands/command.h"

namespace ptyche {

/// Every verb, in the order of the help page, hidden ones included; targets hold their defaults.
std::vector<Command> all_commands();

}  // namespace ptyche
