#include "ptyche/commands/commands_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/help.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"

namespace ptyche {
namespace {

using nlohmann::ordered_json;

struct TypeWord {
  const char* operator()(const bool*) const { return "flag"; }
  const char* operator()(const std::int64_t*) const { return "integer"; }
  const char* operator()(const std::uint64_t*) const { return "integer"; }
  const char* operator()(const double*) const { return "number"; }
  const char* operator()(const std::string*) const { return "text"; }
  const char* operator()(const std::filesystem::path*) const { return "path"; }
  const char* operator()(const std::vector<double>*) const { return "numbers"; }
  const char* operator()(const std::vector<std::int64_t>*) const { return "integers"; }
  const char* operator()(const std::optional<double>*) const { return "number or auto"; }
  const char* operator()(const TextTarget& target) const {
    return target.numbers ? "numbers" : "text";
  }
};

ordered_json or_null(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

ordered_json bound(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}

bool is_basic(const Command& command, const Field& option) {
  return command.basic.empty() || std::ranges::count(command.basic, option.name) > 0;
}

std::string keyword(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

ordered_json described(const Command& command, const Field& option) {
  const std::vector<std::string>& choices = choices_of(option);
  return {{"name", option.name},
          {"keyword", keyword(option.name)},
          {"short", or_null(option.short_name)},
          {"type", std::visit(TypeWord{}, option.target)},
          {"default", to_json(option)},
          {"unit", or_null(option.unit)},
          {"low", bound(option.range.low)},
          {"high", bound(option.range.high)},
          {"choices", choices.empty() ? ordered_json(nullptr) : ordered_json(choices)},
          {"implied", or_null(option.implied)},
          {"help", option.help},
          {"required", option.required},
          {"basic", is_basic(command, option)},
          {"affects_result", option.affects_result}};
}

ordered_json described(const Argument& argument) {
  const bool text = std::holds_alternative<std::string*>(argument.target);
  return {{"name", argument.name},
          {"help", argument.help},
          {"type", text ? "text" : "path"},
          {"required", argument.required},
          {"repeatable", argument.is_list()}};
}

ordered_json described(const Command& command) {
  ordered_json arguments = ordered_json::array(), options = ordered_json::array();
  for (const Argument& argument : command.arguments) arguments.push_back(described(argument));
  for (const Field& option : command.options)
    if (!option.internal) options.push_back(described(command, option));
  return {{"name", command.name},
          {"summary", command.summary},
          {"description", command.description},
          {"usage", usage_line(command)},
          {"references", command.references},
          {"arguments", arguments},
          {"options", options}};
}

}  // namespace

std::string commands_json(const std::vector<Command>& commands) {
  ordered_json codes = ordered_json::object(), all = ordered_json::array();
  for (const ExitCode& exit : kExitCodes) codes[std::to_string(exit.code)] = exit.meaning;
  for (const Command& command : commands)
    if (!command.hidden) all.push_back(described(command));
  const ordered_json description{{"layout", kDescriptionLayout}, {"program", "ptyche"},
                                 {"version", version()},         {"commit", commit()},
                                 {"exit_codes", codes},          {"commands", all}};
  return description.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Command describe_command() {
  return {.name = "__describe",
          .summary = "print all commands as JSON",
          .description = "",
          .arguments = {},
          .options = {},
          .references = {},
          .run = [] { show("{}", commands_json(all_commands())); },
          .hidden = true};
}

}  // namespace ptyche
