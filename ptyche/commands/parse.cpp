#include "ptyche/commands/parse.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"

namespace ptyche {
namespace {

/// --output-dir and --output_dir, and so on for its other names.
std::vector<std::string> spellings(const Field& option) {
  std::vector<std::string> names = {option.name};
  names.insert(names.end(), option.aliases.begin(), option.aliases.end());
  std::vector<std::string> all;
  for (std::string name : names) {
    all.push_back("--" + name);
    std::ranges::replace(name, '-', '_');
    if (all.back() != "--" + name) all.push_back("--" + name);
  }
  return all;
}

/// "-o,--output-dir,--output_dir".
std::string declaration(const Field& option) {
  const std::string short_name = option.short_name.empty() ? "" : "-" + option.short_name + ",";
  return short_name + fmt::format("{}", fmt::join(spellings(option), ","));
}

CLI::Option* declare(CLI::App& app, const Field& option) {
  if (std::holds_alternative<bool*>(option.target)) return app.add_flag(declaration(option));
  return app.add_option(declaration(option))->take_last();
}

/// CLI11 splits the words; it fills no variable, so that the config file can come in between.
struct Parser {
  explicit Parser(const Command& command) {
    app.set_help_flag();
    app.allow_extras();
    for (const Argument& argument : command.arguments)
      arguments.push_back(app.add_option(argument.name));
    for (const Field& option : command.options) options.push_back(declare(app, option));
    config = app.add_option("--config")->take_last();
    show_config = app.add_flag("--show-config,--show_config");
  }

  CLI::App app;
  std::vector<CLI::Option*> arguments, options;
  CLI::Option *config, *show_config;
};

void split(Parser& parser, std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  try {
    parser.app.parse(std::move(words));
  } catch (const CLI::ArgumentMismatch& error) {
    throw UsageError(fmt::format("a value is missing: {}", error.what()));
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
}

void refuse_extras(const Command& command, const std::vector<std::string>& extras) {
  std::vector<std::string> known = {"--config", "--show-config", "--help"};
  for (const Field& option : command.options) known.push_back("--" + option.name);
  for (const std::string& word : extras) {
    if (!word.starts_with("-")) continue;
    const std::string name = word.substr(0, word.find('='));
    throw UsageError(fmt::format("unknown option '{}'{}", name, did_you_mean(name, known)));
  }
  if (!extras.empty()) throw UsageError(fmt::format("unexpected argument '{}'", extras.front()));
}

void fill_arguments(const Command& command, const Parser& parser) {
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    const Argument& argument = command.arguments[i];
    if (parser.arguments[i]->count() > 0) {
      const std::string text = parser.arguments[i]->results().back();
      std::visit([&](auto* target) { *target = text; }, argument.target);
    } else if (argument.required) {
      throw UsageError(fmt::format("{} is missing ({})", argument.name, argument.help));
    }
  }
}

void fill_options(const Command& command, const Parser& parser, OptionSources& sources) {
  for (std::size_t i = 0; i < command.options.size(); ++i) {
    const Field& option = command.options[i];
    if (parser.options[i]->count() > 0) {
      as_usage([&] { assign(option, parser.options[i]->results().back()); });
      sources.by_words.insert(option.name);
    }
    if (option.required && !sources.by_words.contains(option.name) &&
        !sources.by_file.contains(option.name))
      throw UsageError(fmt::format("--{} is missing ({})", option.name, option.help));
  }
}

/// `next` stands behind an option that may be bare: one of its values, or a word of its own. Throws
/// UsageError for what can only be a slip of the first.
bool is_value(const Field& option, const std::string& next) {
  if (choices_of(option).empty())  // a number or a word that stands for one
    return next == "auto" || next == "none" ||
           (!next.empty() && next.find_first_not_of("0123456789") == std::string::npos);
  if (std::ranges::find(choices_of(option), next) != choices_of(option).end()) return true;
  const std::string meant = did_you_mean(next, choices_of(option));
  if (meant.empty() || next.starts_with("-") || std::filesystem::exists(next)) return false;
  throw UsageError(fmt::format("--{}: expected one of {}; found '{}'{}", option.name,
                               fmt::join(choices_of(option), ", "), next, meant));
}

/// `--flag True`, as PtychoPINN's options are written, to `--flag=true`.
std::vector<std::string> with_flags_joined(const Command& command,
                                           const std::vector<std::string>& words) {
  std::vector<std::string> joined;
  for (const std::string& word : words) {
    const std::optional<bool> value = truth_of(word);
    const auto is_before = [&](const Field& option) {
      return std::holds_alternative<bool*>(option.target) && !joined.empty() &&
             std::ranges::count(spellings(option), joined.back()) > 0;
    };
    if (value && std::ranges::any_of(command.options, is_before))
      joined.back() += *value ? "=true" : "=false";
    else
      joined.push_back(word);
  }
  return joined;
}

/// The words with what a bare option means put behind it.
std::vector<std::string> with_implied(const Command& command, std::vector<std::string> words) {
  for (std::size_t i = 0; i < words.size(); ++i)
    for (const Field& option : command.options) {
      const std::vector<std::string> names = spellings(option);
      if (option.implied.empty() || std::ranges::find(names, words[i]) == names.end()) continue;
      const bool said = i + 1 < words.size() && is_value(option, words[i + 1]);
      if (!said) words[i] += "=" + option.implied;
    }
  return words;
}

}  // namespace

OptionSources parse(const Command& command, const std::vector<std::string>& words) {
  Parser parser(command);
  split(parser, with_implied(command, with_flags_joined(command, words)));
  refuse_extras(command, parser.app.remaining());
  OptionSources sources;
  sources.show_config = parser.show_config->count() > 0;
  if (parser.config->count() > 0)
    sources.by_file = read_config(command, parser.config->results().back());
  fill_arguments(command, parser);
  fill_options(command, parser, sources);
  return sources;
}

}  // namespace ptyche
