// No figure is worth a lost result; but a file that could not be written must not pass for one.
#pragma once

#include <exception>
#include <filesystem>
#include <string>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/log.h"

namespace ptyche {

/// Runs `work`; whatever it throws becomes a warning that begins with `what`.
template <typename Work>
void or_warn(const std::string& what, Work&& work) {
  try {
    work();
  } catch (const std::exception& error) {
    warn("{}: {}", what, error.what());
  }
}

/// Writes files one after the other; a failure waits until all were tried.
class ReportFiles {
 public:
  void write(const std::filesystem::path& file, const std::string& content) {
    try {
      write_text(file, content);
    } catch (const InvalidInput& error) {
      if (first_failure_.empty()) first_failure_ = error.what();
    }
  }
  /// Throws InvalidInput with the first failure, which names its file.
  void require_all() const { require(first_failure_.empty(), "{}", first_failure_); }

 private:
  std::string first_failure_;
};

}  // namespace ptyche
