#include "ptyche/commands/completion.h"

#include <fmt/ranges.h>

#include <memory>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/help.h"
#include "ptyche/core/error.h"

namespace ptyche {
namespace {

/// One case of the word lists: "    'KEY') words='a b c' ;;".
std::string list_case(const std::string& key, const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : " ") + word;
  return fmt::format("    '{}') words='{}' ;;\n", key, joined);
}

std::vector<std::string> option_words(const Command& command) {
  std::vector<std::string> words;
  for (const Field& option : command.options) words.push_back("--" + option.name);
  words.insert(words.end(), {"--config", "--help"});
  return words;
}

std::string cases_of(const Command& command) {
  std::string cases;
  for (const Field& option : command.options)
    if (!choices_of(option).empty())
      cases += list_case(command.name + " --" + option.name, choices_of(option));
  return cases;
}

}  // namespace

// Words: the choices of the option before the cursor, else options after a '-', else file names
// (bash's own, by "-o default"). The first word is a verb.
std::string bash_completion(const std::vector<Command>& commands) {
  std::string choices, options;
  std::vector<std::string> verbs = {"--help", "--version"};
  for (const Command& command : commands) {
    if (command.hidden) continue;
    verbs.push_back(command.name);
    choices += cases_of(command);
    options += list_case(command.name, option_words(command));
  }
  return fmt::format(R"(_ptyche() {{
  local verb=${{COMP_WORDS[1]}} word=${{COMP_WORDS[COMP_CWORD]}} words=
  local before=${{COMP_WORDS[COMP_CWORD - 1]}}
  case "$verb ${{before//_/-}}" in
{}  esac
  if [ "$COMP_CWORD" = 1 ]; then
{}  elif [ -z "$words" ] && [ "${{word:0:1}}" = - ]; then
    case "$verb" in
{}    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -o default -F _ptyche ptyche
)",
                     choices, fmt::format("    words='{}'\n", fmt::join(verbs, " ")), options);
}

Command completion_command() {
  auto shell = std::make_shared<std::string>();
  const auto run = [shell] {
    require(*shell == "bash", "completion: expected the shell 'bash', found '{}'", *shell);
    fmt::print("{}", bash_completion(all_commands()));
  };
  return {.name = "completion",
          .summary = "print a completion script for the shell",
          .description = "For bash: source <(ptyche completion bash)",
          .arguments = {{"SHELL", shell.get(), "bash"}},
          .options = {},
          .references = {},
          .run = run};
}

Command docs_command() {
  return {.name = "__docs",
          .summary = "print docs/commands.md",
          .description = "",
          .arguments = {},
          .options = {},
          .references = {},
          .run = [] { fmt::print("{}", commands_page(all_commands())); },
          .hidden = true};
}

}  // namespace ptyche
