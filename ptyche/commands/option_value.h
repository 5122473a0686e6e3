// Between the text of an option and the variable behind it.
#pragma once

#include <optional>
#include <string>

#include "ptyche/commands/command.h"

namespace ptyche {

/// What a flag's value means: true, True, yes, on, or false, False, no, off; nothing for another
/// text.
std::optional<bool> truth_of(const std::string& text);

/// Sets the option's variable from text ("true", "12", "1e-3", "1.5,2"). Throws InvalidInput naming
/// the option, what was expected (type, range, choices) and what came.
void assign(const Option& option, const std::string& text);

/// The variable's present value as text that `assign` takes back; a flag is "true" or "false".
std::string value_text(const Option& option);

/// What a value of the option looks like: "N", "X", "TEXT", "PATH", "X,X"; empty for a flag.
std::string placeholder(const Option& option);

/// "1..64", ">= 0", "<= 1"; empty where every number is allowed.
std::string range_text(const Option& option);

/// A JSON object of all arguments and options with their present values, for provenance. Numbers
/// that are not finite become null.
std::string options_as_json(const Command& command);

}  // namespace ptyche
