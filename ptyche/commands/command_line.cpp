#include "ptyche/commands/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "ptyche/commands/help.h"
#include "ptyche/commands/parse.h"
#include "ptyche/core/events.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/core/ranks.h"

namespace ptyche {
namespace {

constexpr const char* kAll = "--help-all";

bool asks_for_help(const std::string& word) {
  return word == "--help" || word == "-h" || word == kAll;
}

const Command& command_named(const std::vector<Command>& commands, const std::string& name) {
  std::vector<std::string> known;
  for (const Command& command : commands) {
    if (command.name == name) return command;
    if (!command.hidden) known.push_back(command.name);
  }
  throw UsageError(fmt::format("unknown command '{}'{}\nptyche --help lists the commands", name,
                               did_you_mean(name, known)));
}

/// Every verb says as much as the user, or the program that runs it, wants to hear.
void add_message_options(Command& command) {
  const auto options = std::make_shared<MessageOptions>();
  const auto events = std::make_shared<EventOptions>();
  if (command.basic.empty())
    for (const Field& own : command.options) command.basic.push_back(own.name);
  command.options = joined({command.options, fields(*options), fields(*events)});
  command.run = [options, events, work = command.run] {
    begin_messages(*options);
    begin_events(*events);
    work();
  };
}

bool is_secret(const Command& command, const std::string& name) {
  return std::ranges::find(command.secret, name) != command.secret.end();
}

OtherVerbs others_of(const std::vector<Command>& commands) {
  OtherVerbs others;
  for (const Command& command : commands) {
    if (!command.hidden) others.verbs.insert(command.name);
    for (const Argument& argument : command.arguments)
      others.arguments.insert(config_key(argument));
    for (const Field& option : command.options) {
      others.options.insert(option.name);
      for (std::string alias : option.aliases) {
        std::ranges::replace(alias, '_', '-');
        others.options.insert(alias);
      }
    }
  }
  return others;
}

}  // namespace

std::string Argument::text() const {
  if (const auto* const word = std::get_if<std::string*>(&target)) return **word;
  if (const auto* const path = std::get_if<std::filesystem::path*>(&target))
    return (*path)->string();
  std::string all;
  for (const std::filesystem::path& one : *std::get<std::vector<std::filesystem::path>*>(target)) {
    if (!all.empty()) all += ' ';
    all += one.string();
  }
  return all;
}

std::vector<Command> all_commands() {
  std::vector<Command> commands = {reconstruct_command(),   solve_command(),
                                   train_command(),         infer_command(),
                                   live_command(),          view_command(),
                                   simulate_command(),      evaluate_command(),
                                   compare_command(),       compare_models_command(),
                                   info_command(),          report_command(),
                                   convert_command(),       export_command(),
                                   probes_command(),        grid_lines_command(),
                                   dose_response_command(), generalization_command(),
                                   bench_command(),         completion_command(),
                                   docs_command(),          man_command(),
                                   help_pages_command(),    describe_command(),
                                   arrays_command()};
  for (Command& command : commands) {
    std::erase_if(command.options, [](const Field& option) { return option.internal; });
    if (!command.hidden) add_message_options(command);
  }
  return commands;
}

std::string options_as_json(const Command& command) {
  using nlohmann::ordered_json;
  ordered_json values = ordered_json::object();
  for (const Argument& argument : command.arguments) values[argument.name] = argument.text();
  for (const Field& option : command.options)
    if (!option.internal && !is_secret(command, option.name)) values[option.name] = to_json(option);
  return values.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

void hide_secrets(const std::vector<Command>& commands, int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  const auto command = std::ranges::find(commands, verb, &Command::name);
  if (command == commands.end()) return;
  const auto cover = [](char* text) { std::fill_n(text, std::strlen(text), 'x'); };
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i], name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || !is_secret(*command, name.substr(2))) continue;
    if (name != word)
      cover(argv[i] + name.size() + 1);
    else if (i + 1 < argc)
      cover(argv[++i]);
  }
}

namespace {

/// Throws UsageError where several processes would each do all of it.
void require_runs_on_ranks(const Command& command) {
  if (ranks().several() && !command.on_ranks)
    throw UsageError(fmt::format("{} runs in one process, found {} started together: start one",
                                 command.name, ranks().all));
}

}  // namespace

void run_command_line(const std::vector<Command>& commands, const std::vector<std::string>& words) {
  if (words.size() == 2 && words[0] == "help") {
    show("{}", command_help(command_named(commands, words[1])));
    return;
  }
  if (words.empty() || words[0] == "help" || asks_for_help(words[0])) {
    show("{}", program_help(commands));
    return;
  }
  if (words[0] == "--version") {
    show("{}", version_text());
    return;
  }
  const Command& command = command_named(commands, words[0]);
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (std::ranges::any_of(rest, asks_for_help)) {
    const bool all = std::ranges::find(rest, kAll) != rest.end();
    show("{}", all ? full_command_help(command) : command_help(command));
    return;
  }
  OptionSources sources;
  try {
    sources = parse(command, rest, others_of(commands));
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}\nptyche {} --help lists its arguments and options",
                                 error.what(), command.name));
  }
  require_runs_on_ranks(command);
  if (sources.show_config)
    show("{}", config_text(command, sources));
  else
    command.run();
}

}  // namespace ptyche
