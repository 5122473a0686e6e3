// Every command, its arguments and options as JSON: what front ends in other languages are made of
// (the Python package's keywords, their types, defaults and help).
#pragma once

#include <string>
#include <vector>

#include "ptyche/commands/command.h"

namespace ptyche {

/// Version of the layout below: raised when a key changes its meaning or goes.
inline constexpr int kDescriptionLayout = 1;

/// {"layout", "program", "version", "commit", "exit_codes": {code: meaning}, "commands": [...]},
/// hidden commands and other names of options left out. A command:
///   name, summary, description, usage, references
///   arguments  [{name, help, type: "text" | "path", required, repeatable}]
///   options    [{name, keyword (with '_' for '-'), short, type, default, unit, low, high, choices,
///                implied, help, required, basic, affects_result}]
/// type of an option: "flag", "integer", "number", "text", "path", "numbers" and "integers"
/// (lists), "number or auto". low, high: both ends included, null = none; choices: null = any text;
/// implied: what the bare option means, null = it needs a value. basic: it is on the short help
/// page. Call before parsing, while the targets hold the defaults.
std::string commands_json(const std::vector<Command>& commands);

}  // namespace ptyche
