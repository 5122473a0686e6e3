// What a user did wrong, said in layers: what was expected, what came, in which dataset, in which
// file.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace ptyche {

/// The user's mistake (a file, a value, a combination of options); the message names what was
/// expected and what came. Only `main` prints it and exits with 1. Our own mistakes are `assert`s.
class InvalidInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Long work was stopped by Ctrl-C after its state had been saved; `main` exits with 130.
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws InvalidInput with the formatted message unless `condition` holds.
template <typename... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw InvalidInput(fmt::format(format, std::forward<Args>(args)...));
}

/// Runs `work`; an InvalidInput that leaves it gets "context: " in front (a file, a dataset).
template <typename Work>
auto with_context(const std::string& context, Work&& work) {
  try {
    return work();
  } catch (const InvalidInput& error) {
    throw InvalidInput(context + ": " + error.what());
  }
}

}  // namespace ptyche
