#include "ptyche/commands/command.h"

#include <nlohmann/json.hpp>

namespace ptyche {

std::string options_as_json(const Command& command) {
  using nlohmann::ordered_json;
  ordered_json values = ordered_json::object();
  for (const Argument& argument : command.arguments)
    values[argument.name] =
        std::visit([](const auto* target) { return target->c_str(); }, argument.target);
  for (const Field& option : command.options)
    if (!option.internal) values[option.name] = to_json(option);
  return values.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace ptyche
