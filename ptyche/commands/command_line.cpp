#include "ptyche/commands/command_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "ptyche/commands/help.h"
#include "ptyche/commands/parse.h"
#include "ptyche/core/text.h"
#include "ptyche/core/version.h"

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
  Given given;
  try {
    given = parse(command, rest);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}\nptyche {} --help lists its arguments and options",
                                 error.what(), command.name));
  }
  if (given.show_config)
    fmt::print("{}", config_text(command, given));
  else
    command.run();
}

}  // namespace ptyche
