// A field describes one option once: its variable, name, unit, range, help and whether the result
// depends on it. The command line, range checks, resume keys, records and documents follow from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/quantity.h"

namespace ptyche {

/// A value that has words of its own: an enum, a chain of solvers. `set` throws InvalidInput that
/// says what was expected and found, and takes back whatever `get` gives.
struct TextTarget {
  std::function<std::string()> get;
  std::function<void(const std::string&)> set;
  std::vector<std::string> choices = {};  ///< all words that there are; empty = not a list
  bool numbers = false;  ///< the text is numbers joined by commas, a list in JSON and TOML
};

/// Where a field's value goes; the variable's value at declaration is the default. A bool is a
/// flag; an empty optional is written "auto"; a vector is written 1.5,2 on the command line and
/// [1.5, 2] in a TOML file.
using FieldTarget = std::variant<bool*, std::int64_t*, std::uint64_t*, double*, std::string*,
                                 std::filesystem::path*, std::vector<double>*,
                                 std::vector<std::int64_t>*, std::optional<double>*, TextTarget>;

/// One option. An options struct X declares its own in `std::vector<Field> fields(X&)` beside it.
struct Field {
  std::string name = {};  ///< without dashes, words joined by '-'; '_' is accepted too
  FieldTarget target = {};
  std::string unit = {};  ///< "px", "m", "photons"; empty = none
  std::string help = {};  ///< one line
  Range range = {};
  Sizes sizes = {};                       ///< that instruments have, of a physical quantity
  std::vector<std::string> choices = {};  ///< allowed values of a text; empty = any
  std::string short_name = {};            ///< one letter: "o" is -o; empty = none
  bool required = false;     ///< must be given, on the command line or in the config file
  std::string implied = {};  ///< of the choices, what the bare option means; empty = none
  std::vector<std::string> aliases = {};   ///< other names, as PtychoPINN calls it
  bool affects_result = true;              ///< another value may give another result
  bool internal = false;                   ///< no option of a command; in keys and records only
  std::string record_name = {};            ///< in JSON records; empty = the name with '_' for '-'
  std::set<std::string>* typed = nullptr;  ///< of the options struct: names that the user typed
  bool default_decides = false;  ///< the default, typed, is a decision too; else it means that
                                 ///< nobody says (auto, 0 = from the file)
};

/// `word`s for the values of an enum. `target` throws for a word that is not among them.
template <typename Enum>
TextTarget choice(Enum& target, std::vector<std::pair<std::string, Enum>> words) {
  TextTarget text;
  for (const auto& [word, value] : words) text.choices.push_back(word);
  text.get = [&target, words] {
    for (const auto& [word, value] : words)
      if (value == target) return word;
    return std::string();
  };
  text.set = [&target, words](const std::string& found) {
    for (const auto& [word, value] : words)
      if (word == found) return void(target = value);
    throw InvalidInput("'" + found + "' is none of the words");
  };
  return text;
}

/// The field's allowed texts, whichever kind of target it has; empty = any, or not a text.
const std::vector<std::string>& choices_of(const Field& field);

/// Sets the field's variable from text that a user wrote ("true", "12", "1e-3", "1.5,2"). A number
/// may carry the field's unit with a prefix ("180um", "0.5 A", "300kV", "21.4mrad"). Throws
/// InvalidInput naming the option, what was expected (type, range, choices, sizes) and what came.
void assign(const Field& field, const std::string& text);

/// assign, and remembers that the user typed it, on the command line or in a config file.
void assign_typed(const Field& field, const std::string& text);

/// The fields, remembering in `typed`, a member of their options struct, what the user types; of
/// those named in `decide`, of all where none is named, the default is a decision too.
std::vector<Field> remembering(std::vector<Field> fields, std::set<std::string>& typed,
                               const std::vector<std::string>& decide = {});

/// The same from text that a program wrote (`value_text`, a record): in the field's unit, of any
/// size.
void restore(const Field& field, const std::string& text);

/// The variable's present value as text that `assign` takes back; a flag is "true" or "false".
std::string value_text(const Field& field);

/// What a flag's value means: true, True, yes, on, or false, False, no, off; nothing for another
/// text.
std::optional<bool> truth_of(const std::string& text);

/// What a value of the option looks like: "N", "X", "TEXT", "PATH", "X,X"; empty for a flag.
std::string placeholder(const Field& field);

/// "1..64", ">= 0", "<= 1"; empty where every number is allowed.
std::string range_text(const Field& field);

/// "name = value", a line of TOML that a config file may hold; with the unit where a size needs it.
std::string toml_line(const Field& field);

/// Throws InvalidInput naming the first field whose present value is not one that `assign` takes:
/// out of range, not finite, not among the choices.
void require_in_range(const std::vector<Field>& fields);

/// The field of that name or alias, '_' being '-'; nullptr where there is none.
const Field* find_field(const std::vector<Field>& fields, std::string name);

/// The fields without those named, each of which must be there.
std::vector<Field> without(std::vector<Field> fields, const std::vector<std::string>& names);

/// All lists in one.
std::vector<Field> joined(std::vector<std::vector<Field>> lists);

/// Names of the options that say something, internal ones left out: their values are not those of
/// `defaults`, which holds the same fields, or the default was typed and is a decision.
std::vector<std::string> given(const std::vector<Field>& fields,
                               const std::vector<Field>& defaults);

/// Names and values of what a result depends on: two runs with equal keys give the same result.
using Key = std::vector<std::pair<std::string, std::string>>;
Key key_of(const std::vector<Field>& fields);

/// Each option whose value differs, "epochs is 40 and was 60", of a run with `now` that would go
/// on with the state of one with `then`; options that one of the two lacks are named too.
std::vector<std::string> differences(const Key& now, const Key& then);

/// A key as text that a file can hold. `key_from` throws InvalidInput for what is not one.
std::string to_text(const Key& key);
Key key_from(const std::string& text);

/// The present value: a number, true or false, a list, else a text.
nlohmann::ordered_json to_json(const Field& field);

/// The present values by record name. Numbers that are not finite become null when written.
nlohmann::ordered_json to_json(const std::vector<Field>& fields);

/// Sets the fields that the object holds; others keep their values, and keys that belong to no
/// field are left alone. Throws InvalidInput as `assign` does.
void from_json(const std::vector<Field>& fields, const nlohmann::json& object);

/// The same for an options struct, which declares its `fields`.
template <typename Options>
Key key_of(const Options& options) {
  Options copy = options;
  return key_of(fields(copy));
}
template <typename Options>
void require_in_range(const Options& options) {
  Options copy = options;
  require_in_range(fields(copy));
}

}  // namespace ptyche
