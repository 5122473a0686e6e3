#include "ptyche/core/error.h"

#include <filesystem>
#include <new>

namespace ptyche {
namespace {

/// LibTorch throws its own exception when memory runs out, which only its text tells apart.
bool says_no_memory(const std::string& text) {
  return text.find("can't allocate memory") != std::string::npos ||
         text.find("not enough memory") != std::string::npos ||
         text.find("CUDA out of memory") != std::string::npos;
}

}  // namespace

std::string system_message(const std::exception& error) {
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error))
    return fmt::format("{}: {}", file->path1().string(), file->code().message());
  const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
                         dynamic_cast<const std::length_error*>(&error) != nullptr ||
                         says_no_memory(error.what());
  return no_memory ? "not enough memory (ptyche info says what a scan takes)" : "";
}

}  // namespace ptyche
