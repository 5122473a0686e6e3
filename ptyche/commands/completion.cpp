#include "ptyche/commands/completion.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "ptyche/commands/command_line.h"
#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"

namespace ptyche {
namespace {

const std::vector<std::string> kOfAllVerbs = {"--config", "--show-config", "--help", "--help-all"};

/// What bash and zsh look words up in: `options` are cases of a verb, `choices` of "VERB --OPTION".
struct WordLists {
  std::string verbs, options, choices;
};

/// One case: "    'KEY') list='a b c' ;;".
std::string list_case(const std::string& key, const std::vector<std::string>& words) {
  return fmt::format("    '{}') list='{}' ;;\n", key, fmt::join(words, " "));
}

WordLists word_lists(const std::vector<Command>& commands) {
  WordLists lists{.verbs = "help --help --version", .options = {}, .choices = {}};
  for (const Command& command : commands) {
    lists.verbs += " " + command.name;
    std::vector<std::string> options = kOfAllVerbs;
    for (const Field& option : command.options) {
      options.push_back("--" + option.name);
      if (!choices_of(option).empty())
        lists.choices += list_case(command.name + " --" + option.name, choices_of(option));
    }
    lists.options += list_case(command.name, options);
  }
  return lists;
}

// The choices of the option before the cursor, else options after a '-', else file names (bash's
// own, by "-o default"). The first word is a verb.
std::string bash_completion(const WordLists& lists) {
  return fmt::format(R"(_ptyche() {{
  local verb=${{COMP_WORDS[1]}} word=${{COMP_WORDS[COMP_CWORD]}} list=
  local before=${{COMP_WORDS[COMP_CWORD - 1]}}
  case "$verb ${{before//_/-}}" in
{}  esac
  if [ "$COMP_CWORD" = 1 ]; then
    list='{}'
  elif [ -z "$list" ] && [ "${{word:0:1}}" = - ]; then
    case "$verb" in
{}    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$list" -- "$word")
}}
complete -o default -F _ptyche ptyche
)",
                     lists.choices, lists.verbs, lists.options);
}

// Sourced, it declares itself; from a folder of zsh's completions it is run at the first TAB, as
// the function `_ptyche` itself.
std::string zsh_completion(const WordLists& lists) {
  return fmt::format(R"(#compdef ptyche
_ptyche() {{
  local verb=$words[2] word=$words[CURRENT] before=$words[CURRENT-1] list=
  case "$verb ${{before//_/-}}" in
{}  esac
  if (( CURRENT == 2 )); then
    list='{}'
  elif [[ -z $list && $word == -* ]]; then
    case "$verb" in
{}    esac
  fi
  if [[ -n $list ]]; then compadd -- ${{=list}}; else _files; fi
}}
if [[ $funcstack[1] = _ptyche ]]; then _ptyche; else compdef _ptyche ptyche; fi
)",
                     lists.choices, lists.verbs, lists.options);
}

/// A text in single quotes, as fish reads it.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

std::string fish_option(const std::string& verb, const Field& option) {
  const std::vector<std::string> choices = choices_of(option);
  const bool flag = std::holds_alternative<bool*>(option.target);
  std::string line = fmt::format("complete -c ptyche -n '__fish_seen_subcommand_from {}' -l {}",
                                 verb, option.name);
  if (!option.short_name.empty()) line += " -s " + option.short_name;
  if (!flag) line += choices.empty() ? " -r" : fmt::format(" -x -a '{}'", fmt::join(choices, " "));
  return line + " -d " + quoted(option.help) + "\n";
}

std::string fish_completion(const std::vector<Command>& commands) {
  std::string script;
  for (const Command& command : commands) {
    script += fmt::format("complete -c ptyche -n __fish_use_subcommand -f -a {} -d {}\n",
                          command.name, quoted(command.summary));
    for (const Field& option : command.options) script += fish_option(command.name, option);
  }
  for (const std::string& name : kOfAllVerbs)
    script += fmt::format("complete -c ptyche -l {}{}\n", name.substr(2),
                          name == "--config" ? " -r" : "");
  return script + "complete -c ptyche -n __fish_use_subcommand -l version\n";
}

}  // namespace

std::string completion(const std::string& shell, const std::vector<Command>& commands) {
  std::vector<Command> shown = commands;
  std::erase_if(shown, [](const Command& command) { return command.hidden; });
  if (shell == "bash") return bash_completion(word_lists(shown));
  if (shell == "zsh") return zsh_completion(word_lists(shown));
  require(shell == "fish", "completion: expected the shell bash, zsh or fish, found '{}'", shell);
  return fish_completion(shown);
}

Command completion_command() {
  auto shell = std::make_shared<std::string>();
  return {.name = "completion",
          .summary = "print a completion script for the shell",
          .description =
              "In bash and zsh: source <(ptyche completion bash); in fish: ptyche "
              "completion fish | source",
          .arguments = {{"SHELL", shell.get(), "bash, zsh or fish"}},
          .options = {},
          .references = {},
          .run = [shell] { show("{}", completion(*shell, all_commands())); }};
}

}  // namespace ptyche
