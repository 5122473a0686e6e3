// What the program says to a user's mistake.
#pragma once

#include <string>

#include "ptyche/core/error.h"

namespace ptyche {

/// The message of the Error that `work` throws; empty where it throws none.
template <typename Error = InvalidInput, typename Work>
std::string message_of(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace ptyche
