// Messages to the person at the terminal. All go to stderr; stdout belongs to results.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace ptyche {

void print_note(const std::string& text);     ///< "text"
void print_warning(const std::string& text);  ///< "warning: text"

/// A plain line about what is being done or was decided.
template <typename... Args>
void note(fmt::format_string<Args...> format, Args&&... args) {
  print_note(fmt::format(format, std::forward<Args>(args)...));
}

/// Something the user should know although the work goes on.
template <typename... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  print_warning(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace ptyche
