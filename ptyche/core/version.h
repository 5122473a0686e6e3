// What every file that we write says about the program that wrote it.
#pragma once

#include <string>

namespace ptyche {

std::string version();  ///< e.g. "0.1.0"
std::string commit();   ///< twelve hex digits, or "unknown" outside a git checkout

}  // namespace ptyche
