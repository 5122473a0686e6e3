// What the program says to a user's mistake.
#pragma once

#include <string>

#include "ptyche/core/error.h"

namespace ptyche {

/// The message of the InvalidInput that `work` throws, or "nothing was thrown".
template <typename Work>
std::string message_of(Work&& work) {
  try {
    work();
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace ptyche
