// What a file makes a library throw is the file's fault: the user is told which file.
#pragma once

#include <c10/util/Exception.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "ptyche/core/error.h"

namespace ptyche {

/// Runs `work`, which reads and checks `file`: as with_context with the file's name, and what
/// LibTorch or the standard library throw at a shape or a number that no check has thought of
/// becomes an InvalidInput as well. A file that `work` has named itself is named once.
template <typename Work>
auto with_file(const std::filesystem::path& file, Work&& work) {
  const auto not_understood = [](const std::string& reason) {
    return InvalidInput("its content is not understood: " + reason.substr(0, reason.find('\n')));
  };
  const std::string once = file.string() + ": ";
  try {
    return with_context(file.string(), [&] {
      try {
        return work();
      } catch (const c10::Error& error) {
        if (!system_message(error).empty()) throw;
        throw not_understood(error.what_without_backtrace());
      } catch (const std::logic_error& error) {
        if (!system_message(error).empty()) throw;
        throw not_understood(error.what());
      }
    });
  } catch (const InvalidInput& error) {
    const std::string message = error.what();
    if (!message.starts_with(once + once)) throw;
    throw InvalidInput(message.substr(once.size()));
  }
}

}  // namespace ptyche
