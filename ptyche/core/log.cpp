#include "ptyche/core/log.h"

#include <cstdio>

namespace ptyche {

void print_note(const std::string& text) { fmt::print(stderr, "{}\n", text); }

void print_warning(const std::string& text) { fmt::print(stderr, "warning: {}\n", text); }

}  // namespace ptyche
