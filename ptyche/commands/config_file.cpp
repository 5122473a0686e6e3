#include <fmt/ranges.h>
#include <toml++/toml.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "ptyche/commands/parse.h"
#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"

namespace ptyche {
namespace {

// Far more than every option at once; parsers call themselves once a level, and an alias of YAML
// that names aliases doubles what it stands for at every level.
constexpr std::int64_t kLargestConfig = 1 << 20;
constexpr int kDeepest = 32;
constexpr std::size_t kMostEntries = 10'000, kMostAliases = 100;

/// The text of a config file, small and flat enough for any parser.
std::string config_bytes(const std::filesystem::path& file) {
  std::string text = read_bytes(file, kLargestConfig);
  require_shallow(text, file.string(), kDeepest, '#');
  return text;
}

/// The value as `assign` wants it: bare, a list joined by commas.
std::string as_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  const auto* list = node.as_array();
  require(list != nullptr, "expected a text, a number, true, false or a list of numbers");
  std::vector<std::string> words;
  for (const toml::node& element : *list) words.push_back(as_text(element));
  return fmt::format("{}", fmt::join(words, ","));
}

const Field& option_named(const Command& command, const std::string& key) {
  if (const Field* found = find_field(command.options, key)) return *found;
  std::vector<std::string> known;
  for (const Field& option : command.options) known.push_back(option.name);
  throw InvalidInput(fmt::format("'{}' is not an option of ptyche {}{}", key, command.name,
                                 did_you_mean(key, known)));
}

toml::table parse_toml(const std::filesystem::path& file) {
  try {
    return toml::parse(config_bytes(file), file.string());
  } catch (const toml::parse_error& error) {
    throw InvalidInput(
        fmt::format("{}:{}: {}", file.string(), error.source().begin.line, error.description()));
  }
}

/// One key of a config file.
struct Entry {
  std::string key;
  std::vector<std::string> words;  ///< of a list its elements
  std::size_t line = 0;
  std::string verb = {};  ///< whose table it stands in; empty = every verb's

  /// As `assign` wants it.
  std::string text() const { return fmt::format("{}", fmt::join(words, ",")); }
};

std::vector<std::string> words_of(const toml::node& node) {
  std::vector<std::string> words;
  if (const auto* list = node.as_array())
    for (const toml::node& element : *list) words.push_back(as_text(element));
  else
    words.push_back(as_text(node));
  return words;
}

void add_entries(const toml::table& table, const std::string& verb, const std::string& file,
                 const OtherVerbs& others, std::vector<Entry>& entries) {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const toml::table* const own = node.as_table();
    if (own != nullptr && verb.empty() && others.verbs.contains(name)) {
      add_entries(*own, name, file, others, entries);
      continue;
    }
    const std::size_t line = node.source().begin.line;
    entries.push_back({name,
                       with_context(fmt::format("{}:{}: --{}", file, line, name),
                                    [&node = node] { return words_of(node); }),
                       line, verb});
  }
}

std::vector<Entry> entries_of_toml(const std::filesystem::path& file, const OtherVerbs& others) {
  std::vector<Entry> entries;
  add_entries(parse_toml(file), "", file.string(), others, entries);
  return entries;
}

constexpr int kDeepestSection = 8;

/// Sections only sort the keys, but for a verb's own. Their depth is bounded: an alias may name its
/// own section.
void add_entries(const YAML::Node& map, int depth, const std::string& verb,
                 const OtherVerbs& others, std::vector<Entry>& entries) {
  for (const auto& item : map) {
    const YAML::Node& value = item.second;
    if (value.IsMap()) {
      if (depth == 0) throw YAML::Exception(item.first.Mark(), "sections nested too deeply");
      const auto name = item.first.as<std::string>();
      const bool own = depth == kDeepestSection && others.verbs.contains(name);
      add_entries(value, depth - 1, own ? name : verb, others, entries);
      continue;
    }
    if (entries.size() >= kMostEntries)
      throw YAML::Exception(item.first.Mark(), fmt::format("more than {} keys", kMostEntries));
    if (value.IsNull()) continue;  // "key:" alone: the default
    std::vector<std::string> words;
    if (value.IsSequence())
      for (const auto& element : value) words.push_back(element.as<std::string>());
    else
      words.push_back(value.as<std::string>());
    entries.push_back({item.first.as<std::string>(), words,
                       static_cast<std::size_t>(item.first.Mark().line + 1), verb});
  }
}

/// Lists within lists and sections within sections may also be written by indentation or dashes
/// alone: a line of them is as deep as it is long.
std::string yaml_bytes(const std::filesystem::path& file) {
  std::string text = config_bytes(file);
  std::size_t aliases = 0, line = 1;
  for (const std::string& words : split(text, '\n')) {
    std::size_t dashes = 0;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const bool starts = words[i + 1] == ' ' && (words[i] == '-' || words[i] == '?');
      dashes += starts || (words[i] == ':' && words[i + 1] == ' ') ? 1 : 0;
      aliases += words[i] == '*' || words[i] == '&' ? 1 : 0;
    }
    const std::size_t indented = std::min(words.find_first_not_of(' '), words.size());
    require(
        dashes <= kDeepest && indented <= 8 * kDeepest && aliases <= kMostAliases,
        "{}:{}: expected at most {} lists in a line, {} blanks before it and {} aliases in all, "
        "found more",
        file.string(), line, kDeepest, 8 * kDeepest, kMostAliases);
    ++line;
  }
  return text;
}

std::vector<Entry> entries_of_yaml(const std::filesystem::path& file, const OtherVerbs& others) {
  std::vector<Entry> entries;
  try {
    const YAML::Node root = YAML::Load(yaml_bytes(file));
    require(root.IsMap() || root.IsNull(), "{}: expected keys and values, found something else",
            file.string());
    add_entries(root, kDeepestSection, "", others, entries);
  } catch (const YAML::Exception& error) {
    throw InvalidInput(fmt::format("{}:{}: {}", file.string(), error.mark.line + 1, error.msg));
  }
  return entries;
}

/// What a configuration of PtychoPINN may set and a verb here may not have.
bool is_key_of_ptychopinn(std::string key) {
  static const std::set<std::string> kKeys = {
      // of the model
      "N", "gridsize", "n_filters_scale", "model_type", "architecture", "fno_modes", "fno_width",
      "fno_blocks", "fno_cnn_blocks", "learned_input_channels", "max_hidden_channels",
      "resnet_width", "fno_input_transform", "generator_output_mode", "amp_activation",
      "object_big", "probe_big", "probe_mask", "probe_mask_sigma", "probe_mask_diameter",
      "pad_object", "probe_scale", "gaussian_smoothing_sigma",
      // of training and inference
      "train_data_file", "test_data_file", "model_path", "batch_size", "nepochs", "mae_weight",
      "nll_weight", "tv_weight", "realspace_mae_weight", "realspace_weight", "nphotons", "n_groups",
      "n_images", "n_subsample", "subsample_seed", "neighbor_count", "enable_oversampling",
      "neighbor_pool_size", "positions_provided", "probe_trainable", "intensity_scale_trainable",
      "output_dir", "output_prefix", "sequential_sampling", "backend", "debug", "gradient_clip_val",
      "gradient_clip_algorithm", "optimizer", "momentum", "weight_decay", "adam_beta1",
      "adam_beta2", "scheduler", "lr_warmup_epochs", "lr_min_ratio", "plateau_factor",
      "plateau_patience", "plateau_min_lr", "plateau_threshold", "use_xla_translate",
      // of its older dictionary
      "offset", "outer_offset_train", "outer_offset_test", "big_gridsize", "max_position_jitter",
      "sim_jitter_scale", "default_probe_scale", "nimgs_train", "nimgs_test", "data_source",
      "set_phi", "label", "size", "h5_path", "npseed"};
  std::ranges::replace(key, '-', '_');
  return kKeys.contains(key) || key.starts_with("torch_");
}

/// "model.probe_big" and "probe.big" as options are named: the words after the last dot, or all.
std::vector<std::string> names_meant_by(const std::string& key) {
  const std::size_t dot = key.rfind('.');
  if (dot == std::string::npos) return {key};
  std::string whole = key;
  std::ranges::replace(whole, '.', '_');
  return {whole, key.substr(dot + 1)};
}

/// The argument of this name in lower case; nullptr where there is none.
const Argument* argument_named(const Command& command, const std::string& key) {
  for (const Argument& argument : command.arguments)
    if (config_key(argument) == key) return &argument;
  return nullptr;
}

/// Whether this is an argument, or the first name of an option.
bool has_of_this_name(const Command& command, const std::string& key) {
  const Field* const option = find_field(command.options, key);
  return argument_named(command, key) != nullptr || (option != nullptr && option->name == key);
}

/// Sets what the key names; false where this verb has nothing of that name.
bool set_by_name(const Command& command, const Entry& entry, const std::string& name,
                 std::set<std::string>& names) {
  if (const Field* const option = find_field(command.options, name)) {
    assign_typed(*option, entry.text());
    names.insert(option->name);
    return true;
  }
  const Argument* const argument = argument_named(command, name);
  if (argument == nullptr || entry.words.empty()) return false;
  require(argument->is_list() || entry.words.size() == 1, "{}: expected one, found {}", name,
          entry.words.size());
  argument->set(entry.words);
  names.insert(argument->name);
  return true;
}

/// Of whom a key is.
enum class Whose { this_verb, other_verb, ptychopinn };

/// Sets what `key` names, if it is this verb's. Throws InvalidInput for nobody's keys.
Whose set_entry(const Command& command, const Entry& entry, bool yaml, const OtherVerbs& others,
                std::set<std::string>& names) {
  const std::vector<std::string> meant = names_meant_by(entry.key);
  const bool an_argument = entry.verb.empty() && others.arguments.contains(entry.key);
  if (an_argument && !has_of_this_name(command, entry.key)) return Whose::other_verb;
  for (const std::string& name : meant)
    if (set_by_name(command, entry, name, names)) return Whose::this_verb;
  const auto of_others = [&](std::string name) {
    std::ranges::replace(name, '_', '-');
    return entry.verb.empty() && others.options.contains(name);
  };
  if (std::ranges::any_of(meant, of_others)) return Whose::other_verb;
  if (yaml && std::ranges::any_of(meant, is_key_of_ptychopinn)) return Whose::ptychopinn;
  option_named(command, entry.key);
  return Whose::other_verb;
}

void say_left_out(const std::filesystem::path& file, const std::string& of,
                  const std::vector<std::string>& keys) {
  if (!keys.empty()) note("{}: of {} and left out: {}", file.string(), of, fmt::join(keys, ", "));
}

}  // namespace

std::string config_key(const Argument& argument) {
  std::string key = argument.name;
  std::ranges::transform(key, key.begin(), [](unsigned char c) { return std::tolower(c); });
  return key;
}

std::set<std::string> read_config(const Command& command, const std::filesystem::path& file,
                                  const std::set<std::string>& passed_over,
                                  const OtherVerbs& others) {
  const bool yaml = file.extension() == ".yaml" || file.extension() == ".yml";
  std::vector<Entry> entries = yaml ? entries_of_yaml(file, others) : entries_of_toml(file, others);
  std::erase_if(entries, [&](const Entry& entry) {
    return passed_over.contains(entry.key) || (!entry.verb.empty() && entry.verb != command.name);
  });
  // A preset gives others their values, which the others' own keys then replace; a verb's own table
  // wins over what all have.
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    const auto place = [](const Entry& entry) {
      return std::pair(entry.key != kPresetOption, !entry.verb.empty());
    };
    return place(a) < place(b);
  });
  std::set<std::string> names;
  std::vector<std::string> of_others, of_ptychopinn;
  for (const Entry& entry : entries)
    with_context(fmt::format("{}:{}", file.string(), entry.line), [&] {
      const Whose whose = set_entry(command, entry, yaml, others, names);
      const std::string where = fmt::format("{} (line {})", entry.key, entry.line);
      if (whose == Whose::other_verb) of_others.push_back(where);
      if (whose == Whose::ptychopinn) of_ptychopinn.push_back(where);
    });
  say_left_out(file, "other verbs", of_others);
  say_left_out(file, "PtychoPINN alone", of_ptychopinn);
  return names;
}

}  // namespace ptyche
