#include "ptyche/commands/registry.h"

#include "ptyche/commands/completion.h"

namespace ptyche {

std::vector<Command> all_commands() { return {completion_command(), docs_command()}; }

}  // namespace ptyche
