#include "ptyche/commands/help.h"

#include <fmt/ranges.h>

#include <cctype>
#include <memory>
#include <sstream>

#include "ptyche/commands/command_line.h"
#include "ptyche/core/error.h"

namespace ptyche {

namespace {

constexpr std::size_t screen_width = 80, left_width = 29;

constexpr const char* what_it_is =
    "Ptyche turns a ptychography scan into the complex image of the sample.\n";

/// Words of `text`; a list a|b|c of more than `room` letters is cut after the last '|' that fits.
std::vector<std::string> words_of(const std::string& text, std::size_t room) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word; words.push_back(word))
    for (std::size_t bar; word.size() > room && (bar = word.rfind('|', room - 1)) != word.npos;) {
      words.push_back(word.substr(0, bar + 1));
      word.erase(0, bar + 1);
    }
  return words;
}

/// `text` broken between words; every line but the first starts with `indent` spaces.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  for (const std::string& word : words_of(text, screen_width - indent)) {
    if (column > indent && column + 1 + word.size() > screen_width) {
      out.append(1, '\n').append(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

/// A summary as a sentence: first letter in upper case, full stop.
std::string sentence(std::string summary) {
  if (!summary.empty())
    summary[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(summary[0])));
  return summary + ".";
}

std::string two_columns(const std::string& left, const std::string& right) {
  const std::string gap = left.size() < left_width ? std::string(left_width - left.size(), ' ')
                                                   : "\n" + std::string(left_width, ' ');
  return left + gap + wrapped(right, left_width) + "\n";
}

std::string kind(const Field& option) {
  return choices_of(option).empty() ? placeholder(option)
                                    : fmt::format("{}", fmt::join(choices_of(option), "|"));
}

/// "required", the default, or nothing where the default is an empty text.
std::string default_text(const Field& option) {
  if (option.required) return "required";
  if (std::holds_alternative<bool*>(option.target))
    return value_text(option) == "true" ? "on" : "off";
  return value_text(option);
}

/// "(a|b, 1..64, unit px, default 16)": whatever of it there is.
std::string details(const Field& option) {
  std::vector<std::string> parts;
  if (!choices_of(option).empty()) parts.push_back(kind(option));
  if (const std::string range = range_text(option); !range.empty()) parts.push_back(range);
  if (!option.unit.empty()) parts.push_back("unit " + option.unit);
  for (const std::string& alias : option.aliases) parts.push_back("also --" + alias);
  const std::string value = default_text(option);
  if (option.required || value == "on") parts.push_back(option.required ? value : "default on");
  if (!option.required && !value.empty() && !std::holds_alternative<bool*>(option.target))
    parts.push_back("default " + value);
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

/// "-o, --output PATH".
std::string left_column(const Field& option) {
  const std::string letter = option.short_name.empty() ? "    " : "-" + option.short_name + ", ";
  const std::string form = placeholder(option);
  return "  " + letter + "--" + option.name + (form.empty() ? "" : " " + form);
}

std::string usage_line(const Command& command) {
  std::string line = "ptyche " + command.name;
  for (const Argument& argument : command.arguments)
    line += argument.required ? " " + argument.name : " [" + argument.name + "]";
  for (const Field& option : command.options)
    if (option.required) line += " --" + option.name + " " + placeholder(option);
  return line + (command.options.empty() ? "" : " [OPTIONS]");
}

std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string code(const std::string& text) { return text.empty() ? "" : "`" + text + "`"; }

/// "; also `--nepochs`" for every other name.
std::string also(const Field& option) {
  std::string names;
  for (const std::string& alias : option.aliases) names += "; also " + code("--" + alias);
  return names;
}

std::string option_row(const Field& option) {
  const std::string letter = option.short_name.empty() ? "" : code("-" + option.short_name) + " ";
  const std::string range = range_text(option);
  const std::string values = kind(option) + (range.empty() ? "" : " " + range);
  return fmt::format("| {}{} | {} | {} | {} | {} |\n", letter, code("--" + option.name),
                     cell(code(values)), cell(code(default_text(option))), cell(option.unit),
                     cell(option.help + also(option)));
}

std::string command_section(const Command& command) {
  std::string page = fmt::format("\n## {}\n\n{}\n\n    {}\n", command.name,
                                 sentence(command.summary), usage_line(command));
  if (!command.description.empty()) page += "\n" + command.description + "\n";
  if (!command.arguments.empty()) page += "\n| argument | meaning |\n|---|---|\n";
  for (const Argument& argument : command.arguments)
    page += fmt::format("| {} | {} |\n", code(argument.name), cell(argument.help));
  if (!command.options.empty())
    page += "\n| option | values | default | unit | meaning |\n|---|---|---|---|---|\n";
  for (const Field& option : command.options) page += option_row(option);
  if (!command.references.empty()) page += "\nReferences:\n\n";
  for (const std::string& reference : command.references) page += "- " + reference + "\n";
  return page;
}

}  // namespace

std::string program_help(const std::vector<Command>& commands) {
  std::string page = "usage: ptyche COMMAND [ARGUMENTS] [OPTIONS]\n\n";
  page += what_it_is;
  page += "\n";
  for (const Command& command : commands)
    if (!command.hidden) page += fmt::format("  {:<13} {}\n", command.name, command.summary);
  return page +
         "\n  ptyche COMMAND --help   arguments, options, defaults, units\n"
         "  ptyche --version        version and commit\n";
}

std::string command_help(const Command& command) {
  std::string page = "usage: " + usage_line(command) + "\n\n";
  page += wrapped(sentence(command.summary), 0) + "\n";
  if (!command.description.empty()) page += fmt::format("\n{}\n", wrapped(command.description, 0));
  if (!command.arguments.empty()) page += "\nArguments\n";
  for (const Argument& argument : command.arguments)
    page += two_columns("  " + argument.name, argument.help);
  page += "\nOptions\n";
  for (const Field& option : command.options)
    page += two_columns(left_column(option), option.help + details(option));
  page += two_columns("      --config FILE",
                      "options from a file, .toml: one 'name = value' a line, or .yaml");
  page += two_columns("      --show-config",
                      "every value and where it is from, as a file for --config; "
                      "nothing is run");
  page += two_columns("  -h, --help", "this text");
  if (!command.references.empty()) page += "\nReferences\n";
  for (const std::string& reference : command.references)
    page += "  " + wrapped(reference, 2) + "\n";
  return page;
}

std::string commands_page(const std::vector<Command>& commands) {
  std::string page = "# Commands\n\n";
  page += "Printed by `ptyche __docs`; not edited by hand.\n\n";
  page +=
      "Every command also takes `--config FILE` (keys are option names; flat TOML, or YAML whose\n"
      "sections only sort the keys; the command line wins over the file, the file over the\n"
      "default), `--show-config` (prints every value and where it is from as such a file, runs "
      "nothing) and\n"
      "`--help`. `_` may stand for `-` in the name of an option. Exit codes: 0 done (an image is "
      "good or doubtful),\n"
      "1 something is wrong with the input, 2 the command line is not understood, 3 a fault of the "
      "program,\n"
      "4 the image is written but failed (docs/verdict.md), 130 interrupted.\n";
  for (const Command& command : commands)
    if (!command.hidden) page += command_section(command);
  return page;
}

std::string config_text(const Command& command, const OptionSources& sources) {
  std::string page;
  for (const Field& option : command.options) {
    const bool by_words = sources.by_words.contains(option.name);
    const char* source = by_words                                ? "command line"
                         : sources.by_file.contains(option.name) ? "config file"
                                                                 : "default";
    page += fmt::format("{:<44} # {}\n", toml_line(option), source);
  }
  return page;
}

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
