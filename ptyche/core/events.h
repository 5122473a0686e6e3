// What another program is told while this one works: JSON objects, one a line (docs/events.md).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "ptyche/core/field.h"

namespace ptyche {

struct EventOptions {
  std::string format = "none";  ///< none or json
  std::int64_t descriptor =
      1;                    ///< open for writing; 1 = stdout, all other text goes to stderr then
  std::int64_t parent = 0;  ///< process without which this one ends; 0 = it needs none
};
std::vector<Field> fields(EventOptions& options);

/// From now on: sends `started`, and watches the parent. Throws InvalidInput where the descriptor
/// is not open for writing or the parent is no process that started this one.
void begin_events(const EventOptions& options);

/// Whether anybody listens: what only listeners need is not worth making otherwise.
bool sends_events();

/// One line, in one piece, from any thread: {"event": NAME, "time": seconds since 1970, DETAILS}.
/// Numbers that are not finite become null. A listener that is gone costs nothing and ends nothing.
/// A thread in which a Silence lives sends nothing: short trial runs are not the user's.
void send_event(const std::string& name, const nlohmann::ordered_json& details);

/// The words for how a run ended, in `finished` and `error`.
namespace ending {
inline constexpr const char* kDone = "done";
inline constexpr const char* kFailed = "failed";
inline constexpr const char* kInterrupted = "interrupted";
inline constexpr const char* kInvalidInput = "invalid_input";
inline constexpr const char* kDiverged = "diverged";
inline constexpr const char* kUsage = "usage";
inline constexpr const char* kInternal = "internal";
}  // namespace ending

/// The last line of a run, by its exit code: `finished` where there are results or the user stopped
/// it (0, 4, 130), else `error`.
void send_end(int exit_code, const char* how, const std::string& message);

}  // namespace ptyche
