#include "ptyche/commands/parse.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"

namespace ptyche {
namespace {

/// The words of a command line, taken apart.
struct SplitWords {
  std::vector<std::string> arguments;
  std::map<std::string, std::string> values;  ///< by Field::name; of several the last
};

/// An option and what stands in the same word: behind its '=', or behind its short name.
struct NamedOption {
  const Field* option = nullptr;
  std::optional<std::string> value = {};
};

NamedOption option_of(const std::vector<Field>& options, const std::string& word) {
  if (word.starts_with("--")) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const Field* option = find_field(options, word.substr(2, equals - 2));
    if (equals == word.size()) return {option};
    return {option, word.substr(equals + 1)};
  }
  for (const Field& option : options) {
    if (option.short_name.empty() || !word.starts_with("-" + option.short_name)) continue;
    if (word.size() == 2) return {&option};
    return {&option, word.substr(word[2] == '=' ? 3 : 2)};
  }
  return {};
}

[[noreturn]] void refuse_unknown(const std::vector<Field>& options, const std::string& word) {
  std::vector<std::string> known = {"--help"};
  for (const Field& option : options) known.push_back("--" + option.name);
  const std::string name = word.substr(0, word.find('='));
  throw UsageError(fmt::format("unknown option '{}'{}", name, did_you_mean(name, known)));
}

/// Whether `text` is a value of the option, whose variable stays as it is.
bool is_value(const Field& option, const std::string& text) {
  const std::string before = value_text(option);
  try {
    assign(option, text);
  } catch (const InvalidInput&) {
    return false;
  }
  assign(option, before);
  return true;
}

/// Whether the word behind an option that may be bare is its value, not an argument. Throws
/// UsageError for what can only be a slip of a value.
bool belongs_to(const Field& option, const std::string& next) {
  if (is_value(option, next)) return true;
  const std::string meant = did_you_mean(next, choices_of(option));
  if (meant.empty() || next.starts_with("-") || std::filesystem::exists(next)) return false;
  throw UsageError(fmt::format("--{}: expected one of {}; found '{}'{}", option.name,
                               fmt::join(choices_of(option), ", "), next, meant));
}

/// What the option is given by the words behind it; `at` is its own and moves to the last one used.
std::string value_behind(const std::vector<Field>& options, const Field& option,
                         const std::vector<std::string>& words, std::size_t& at) {
  const bool flag = std::holds_alternative<bool*>(option.target);
  const bool last = at + 1 == words.size();
  if (flag || !option.implied.empty()) {
    const std::string bare = flag ? "true" : option.implied;
    return last || !belongs_to(option, words[at + 1]) ? bare : words[++at];
  }
  if (last || (words[at + 1].starts_with("--") && option_of(options, words[at + 1]).option))
    throw UsageError(fmt::format("--{}: its value is missing", option.name));
  return words[++at];
}

SplitWords taken_apart(const std::vector<Field>& options, const std::vector<std::string>& words) {
  SplitWords found;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string word = words[at];
    if (word == "--") {
      found.arguments.insert(found.arguments.end(), words.begin() + at + 1, words.end());
      break;
    }
    if (word.size() < 2 || !word.starts_with("-")) {
      found.arguments.push_back(word);
      continue;
    }
    const NamedOption named = option_of(options, word);
    if (!named.option) refuse_unknown(options, word);
    found.values[named.option->name] =
        named.value ? *named.value : value_behind(options, *named.option, words, at);
  }
  return found;
}

/// One word; of a list all that are left.
std::vector<std::string> words_of(const Argument& argument, std::size_t place,
                                  const std::vector<std::string>& words) {
  if (place >= words.size()) return {};
  if (!argument.is_list()) return {words[place]};
  return {words.begin() + static_cast<std::ptrdiff_t>(place), words.end()};
}

void fill_arguments(const Command& command, const std::vector<std::string>& words,
                    OptionSources& sources) {
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    const Argument& argument = command.arguments[i];
    const std::vector<std::string> own = words_of(argument, i, words);
    if (!own.empty()) {
      argument.set(own);
      sources.by_words.insert(argument.name);
    } else if (argument.required && !sources.by_file.contains(argument.name)) {
      throw UsageError(fmt::format("{} is missing ({})", argument.name, argument.help));
    }
  }
  const bool takes_all = !command.arguments.empty() && command.arguments.back().is_list();
  if (words.size() > command.arguments.size() && !takes_all)
    throw UsageError(fmt::format("unexpected argument '{}'", words[command.arguments.size()]));
}

void fill_options(const std::vector<Field>& options,
                  const std::map<std::string, std::string>& values, OptionSources& sources) {
  for (const Field& option : options) {
    if (const auto found = values.find(option.name); found != values.end()) {
      as_usage([&] { assign_typed(option, found->second); });
      sources.by_words.insert(option.name);
    }
    if (option.required && !sources.by_words.contains(option.name) &&
        !sources.by_file.contains(option.name))
      throw UsageError(fmt::format("--{} is missing ({})", option.name, option.help));
  }
}

/// Takes the preset out of the words and sets it.
void set_preset(const Command& command, std::map<std::string, std::string>& values,
                OptionSources& sources) {
  const auto found = values.find(kPresetOption);
  if (found == values.end()) return;
  as_usage([&] { assign(*find_field(command.options, kPresetOption), found->second); });
  sources.by_words.insert(kPresetOption);
  values.erase(found);
}

}  // namespace

void Argument::set(const std::vector<std::string>& words) const {
  if (auto* const* const text = std::get_if<std::string*>(&target)) {
    **text = words.front();
  } else if (auto* const* const path = std::get_if<std::filesystem::path*>(&target)) {
    **path = words.front();
  } else {
    std::get<std::vector<std::filesystem::path>*>(target)->assign(words.begin(), words.end());
  }
}

OptionSources parse(const Command& command, const std::vector<std::string>& words,
                    const OtherVerbs& others) {
  OptionSources sources;
  std::string config;
  const std::vector<Field> of_every_command = {
      {.name = "config", .target = &config},
      {.name = "show-config", .target = &sources.show_config}};
  SplitWords found = taken_apart(joined({command.options, of_every_command}), words);
  for (const Field& option : of_every_command)
    if (const auto value = found.values.find(option.name); value != found.values.end())
      as_usage([&] { assign(option, value->second); });
  set_preset(command, found.values, sources);
  if (found.values.contains("config"))
    sources.by_file = read_config(command, config, sources.by_words, others);
  fill_arguments(command, found.arguments, sources);
  fill_options(command.options, found.values, sources);
  return sources;
}

}  // namespace ptyche
