#include "ptyche/commands/registry.h"

#include "ptyche/commands/completion.h"
#include "ptyche/commands/verbs.h"

namespace ptyche {

std::vector<Command> all_commands() {
  std::vector<Command> commands = {
      reconstruct_command(), solve_command(),         train_command(),   infer_command(),
      simulate_command(),    evaluate_command(),      compare_command(), info_command(),
      grid_lines_command(),  dose_response_command(), bench_command(),   completion_command(),
      docs_command()};
  for (Command& command : commands)
    std::erase_if(command.options, [](const Field& option) { return option.internal; });
  return commands;
}

}  // namespace ptyche
