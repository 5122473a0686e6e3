// No figure is worth a lost result.
#pragma once

#include <exception>
#include <string>

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

}  // namespace ptyche
