#include "ptyche/commands/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ptyche/commands/help.h"
#include "ptyche/commands/parse.h"
#include "ptyche/core/files.h"

namespace ptyche {
namespace {

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h"; }

const Command& command_named(const std::vector<Command>& commands, const std::string& name) {
  std::vector<std::string> known;
  for (const Command& command : commands) {
    if (command.name == name) return command;
    if (!command.hidden) known.push_back(command.name);
  }
  throw UsageError(fmt::format("unknown command '{}'{}\nptyche --help lists the commands", name,
                               did_you_mean(name, known)));
}

}  // namespace

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

std::string options_as_json(const Command& command) {
  using nlohmann::ordered_json;
  ordered_json values = ordered_json::object();
  for (const Argument& argument : command.arguments)
    values[argument.name] =
        std::visit([](const auto* target) { return target->c_str(); }, argument.target);
  for (const Field& option : command.options)
    if (!option.internal) values[option.name] = to_json(option);
  return values.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

void run_command_line(const std::vector<Command>& commands, const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "help" || asks_for_help(words[0])) {
    fmt::print("{}", program_help(commands));
    return;
  }
  if (words[0] == "--version") {
    fmt::print("ptyche {} ({})\n", version(), commit());
    return;
  }
  const Command& command = command_named(commands, words[0]);
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (std::any_of(rest.begin(), rest.end(), asks_for_help)) {
    fmt::print("{}", command_help(command));
    return;
  }
  OptionSources sources;
  try {
    sources = parse(command, rest);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}\nptyche {} --help lists its arguments and options",
                                 error.what(), command.name));
  }
  if (sources.show_config)
    fmt::print("{}", config_text(command, sources));
  else
    command.run();
}

}  // namespace ptyche
