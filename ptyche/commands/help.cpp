#include "ptyche/commands/help.h"

#include <fmt/ranges.h>

#include <cctype>
#include <functional>
#include <sstream>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/commands_json.h"
#include "ptyche/commands/completion.h"
#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"

namespace ptyche {

namespace {

constexpr std::size_t kScreenWidth = 80, kLeftWidth = 29;

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
  for (const std::string& word : words_of(text, kScreenWidth - indent)) {
    if (column > indent && column + 1 + word.size() > kScreenWidth) {
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

std::string two_columns(const std::string& left, const std::string& right) {
  const std::string gap = left.size() < kLeftWidth ? std::string(kLeftWidth - left.size(), ' ')
                                                   : "\n" + std::string(kLeftWidth, ' ');
  return left + gap + wrapped(right, kLeftWidth) + "\n";
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

/// "(a|b, 1..64, unit px, default 16)": whatever of it there is; other names where they are wanted.
std::string details(const Field& option, bool with_aliases) {
  std::vector<std::string> parts;
  if (!choices_of(option).empty()) parts.push_back(kind(option));
  if (const std::string range = range_text(option); !range.empty()) parts.push_back(range);
  if (!option.unit.empty()) parts.push_back("unit " + option.unit);
  if (with_aliases)
    for (const std::string& alias : option.aliases) parts.push_back("also --" + alias);
  const std::string value = default_text(option);
  if (option.required || value == "on") parts.push_back(option.required ? value : "default on");
  if (!option.required && !value.empty() && !std::holds_alternative<bool*>(option.target))
    parts.push_back("default " + value);
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

OptionEntry entry_of(const Field& option, bool with_aliases) {
  const std::string letter = option.short_name.empty() ? "" : "-" + option.short_name + ", ";
  const std::string form = placeholder(option);
  return {letter + "--" + option.name + (form.empty() ? "" : " " + form),
          option.help + details(option, with_aliases)};
}

/// Long names stand below each other, whether there is a letter before or not.
std::string option_lines(const OptionEntry& entry) {
  return two_columns((entry.form.starts_with("--") ? "      " : "  ") + entry.form, entry.meaning);
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

std::string sentence(std::string summary) {
  if (!summary.empty())
    summary[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(summary[0])));
  return summary + ".";
}

std::string usage_line(const Command& command) {
  std::string line = "ptyche " + command.name;
  for (const Argument& argument : command.arguments)
    line += (argument.required ? " " + argument.name : " [" + argument.name + "]") +
            (argument.is_list() ? "..." : "");
  for (const Field& option : command.options)
    if (option.required) line += " --" + option.name + " " + placeholder(option);
  return line + (command.options.empty() ? "" : " [OPTIONS]");
}

std::vector<OptionEntry> option_entries(const Command& command) {
  std::vector<OptionEntry> entries;
  for (const Field& option : command.options) entries.push_back(entry_of(option, true));
  entries.push_back(
      {"--config FILE", "options from a file, .toml: one 'name = value' a line, or .yaml"});
  entries.push_back({"--show-config",
                     "every value and where it is from, as a file for --config; nothing is run"});
  entries.push_back(
      {"-h, --help", command.basic.empty() ? "this text" : "the basic options; --help-all: all"});
  return entries;
}

std::string program_help(const std::vector<Command>& commands) {
  std::string page = "usage: ptyche COMMAND [ARGUMENTS] [OPTIONS]\n";
  page += fmt::format("Ptyche {}.\n", kWhatItDoes);
  for (const Command& command : commands)
    if (!command.hidden) page += fmt::format("  {:<14} {}\n", command.name, command.summary);
  return page + "COMMAND --help: arguments, basic options (--help-all: all); --version [--json]\n";
}

namespace {

std::string head(const Command& command) {
  return "usage: " + usage_line(command) + "\n\n" + wrapped(sentence(command.summary), 0) + "\n";
}

std::string arguments_of(const Command& command) {
  std::string lines;
  for (const Argument& argument : command.arguments)
    lines += two_columns("  " + argument.name, argument.help);
  return lines.empty() ? "" : "\nArguments\n" + lines;
}

}  // namespace

std::string command_help(const Command& command) {
  if (command.basic.empty()) return full_command_help(command);
  std::string page = head(command) + arguments_of(command) + "\nBasic options\n";
  for (const std::string& name : command.basic)
    page += option_lines(entry_of(*find_field(command.options, name), false));
  return page + two_columns("  -h, --help, --help-all",
                            fmt::format("this text; all {} options", command.options.size()));
}

std::string full_command_help(const Command& command) {
  std::string page = head(command);
  if (!command.description.empty()) page += fmt::format("\n{}\n", wrapped(command.description, 0));
  page += arguments_of(command) + "\nOptions\n";
  for (const OptionEntry& entry : option_entries(command)) page += option_lines(entry);
  if (!command.references.empty()) page += "\nReferences\n";
  for (const std::string& reference : command.references)
    page += "  " + wrapped(reference, 2) + "\n";
  return page;
}

std::string commands_page(const std::vector<Command>& commands) {
  std::string page = "# Commands\n\n";
  page += "Printed by `ptyche __docs`; not edited by hand.\n\n";
  page +=
      "Every command also takes `--config FILE`: TOML or YAML whose keys are option names, and\n"
      "`scan = \"a.cxi\"` for SCAN. One file may serve several commands: keys of others are named "
      "in a\n"
      "line and left out, a table `[solve]` is for `solve` alone and wins over the rest; YAML's "
      "other\n"
      "sections only sort the keys. The command line wins over the file, the file over the\n"
      "default. Every command takes `--show-config` (prints every value and where it is from as "
      "such a file, runs "
      "nothing) and\n"
      "`--help` (the basic ones; `--help-all`: this list). `_` may stand for `-` in the name of an "
      "option.\n\nExit codes: ";
  for (const ExitCode& exit : kExitCodes)
    page += fmt::format("{}{} {}", exit.code == 0 ? "" : ", ", exit.code, exit.meaning);
  page += ".\n";
  for (const Command& command : commands)
    if (!command.hidden) page += command_section(command);
  return page;
}

std::string config_text(const Command& command, const OptionSources& sources) {
  std::string page;
  const auto add = [&](const std::string& name, const std::string& line) {
    const char* source = sources.by_words.contains(name)  ? "command line"
                         : sources.by_file.contains(name) ? "config file"
                                                          : nullptr;
    // What nobody said stays so when the page is read as a config file.
    page += source != nullptr ? fmt::format("{:<44} # {}\n", line, source)
                              : fmt::format("# {:<42} # default\n", line);
  };
  for (const Argument& argument : command.arguments)
    if (std::string text = argument.text(); !text.empty() && !argument.is_list()) {
      add(argument.name, toml_line({.name = config_key(argument), .target = &text}));
    }
  for (const Field& option : command.options) add(option.name, toml_line(option));
  return page;
}

std::string version_text() { return fmt::format("ptyche {} ({})\n", version(), commit()); }

std::string help_pages_source(const std::vector<Command>& commands) {
  const auto page = [](const std::string& name, const std::string& text) {
    // With its length, which a compiler need not count then.
    return fmt::format("    {{\"{}\", {{R\"page({})page\", {}}}}},\n", name, text, text.size());
  };
  std::string pages = page("--help", program_help(commands)) + page("--version", version_text());
  for (const Command& command : commands) {
    pages += page(command.name + " --help", command_help(command));
    pages += page(command.name + " --help-all", full_command_help(command));
  }
  pages += page("__describe", commands_json(commands));
  for (const char* shell : {"bash", "zsh", "fish"})
    pages += page(fmt::format("completion {}", shell), completion(shell, commands));
  return fmt::format(
      "// Made by `ptyche-program __help_pages`.\n"
      "#include <string_view>\n\nstruct HelpPage {{\n  std::string_view name, text;\n}};\n\n"
      "inline constexpr HelpPage kHelpPages[] = {{\n{}}};\n",
      pages);
}

namespace {

/// A verb for scripts that prints one text.
Command printing(const std::string& name, const std::string& summary,
                 const std::function<std::string()>& text) {
  return {.name = name,
          .summary = summary,
          .description = "",
          .arguments = {},
          .options = {},
          .references = {},
          .run = [text] { show("{}", text()); },
          .hidden = true};
}

}  // namespace

Command docs_command() {
  return printing("__docs", "print docs/commands.md", [] { return commands_page(all_commands()); });
}

Command help_pages_command() {
  return printing("__help_pages", "print all help pages as a C++ table",
                  [] { return help_pages_source(all_commands()); });
}

}  // namespace ptyche
