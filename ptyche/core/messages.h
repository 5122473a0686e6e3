// What the program says: notes and warnings on stderr, what was asked for on stdout, both in a log
// file where one is wanted. A progress bar and a message never share a line.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/core/remark.h"

namespace ptyche {

/// From the least talk to the most.
enum class MessageLevel { error, warning, info, debug };

struct MessageOptions {
  bool quiet = false;    ///< stderr: warnings and errors alone; no summary
  bool verbose = false;  ///< stderr: everything
  std::filesystem::path log = {};
  MessageLevel log_level = MessageLevel::debug;
};
std::vector<Field> fields(MessageOptions& options);

/// From now on. The log gets a first line with the version and the command line. Throws
/// InvalidInput where quiet and verbose are both asked for, or the log cannot be written to.
void begin_messages(const MessageOptions& options);

/// Whether stderr shows messages of this level.
bool shows(MessageLevel level);

/// While one lives, its thread says nothing: notes, warnings and bars of short trial runs are not
/// the user's. One may live inside another.
class Silence {
 public:
  Silence();
  ~Silence();
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
};

/// Whether one lives in this thread.
bool silent();

/// Remembers the remarks of all threads that come while it lives.
class HeardRemarks {
 public:
  HeardRemarks();
  ~HeardRemarks();
  HeardRemarks(const HeardRemarks&) = delete;
  HeardRemarks& operator=(const HeardRemarks&) = delete;
  std::vector<Remark> list() const;

 private:
  friend void say(const Remark& remark, bool shown);
  std::vector<Remark> heard_;
};

/// The text as it may be shown on a terminal: control characters other than line ends and tabs,
/// which could command it (names and texts out of files have been known to), as "\\x1b".
std::string harmless(const std::string& text);

/// "text", "warning: text" on stderr; an error even where a Silence lives.
void print_message(MessageLevel level, const std::string& text);

/// "corrected: cause: text", "warning: cause: text" or "text" on stderr, where `shown` is false
/// only with --verbose; as an event of its kind's name; kept by those who listen.
void say(const Remark& remark, bool shown = true);

/// On stdout; a failure is kept for output_failure, for the work itself is not lost by it.
void print_result(const std::string& text);

/// Why what went to stdout did not all arrive (a closed pipe, a full disk); empty = it did. To be
/// asked once, at the end.
std::string output_failure();

/// The line of a progress bar, on a terminal, in place of the bar before it.
void print_bar(const std::string& line);
/// Takes the bar off the terminal.
void remove_bar();

/// A plain line about what was decided for the user.
template <typename... Args>
void note(fmt::format_string<Args...> format, Args&&... args) {
  say({.kind = Remark::Kind::note, .text = fmt::format(format, std::forward<Args>(args)...)});
}

/// A line about how the work goes, for those who want to follow it.
template <typename... Args>
void detail(fmt::format_string<Args...> format, Args&&... args) {
  print_message(MessageLevel::debug, fmt::format(format, std::forward<Args>(args)...));
}

/// Something the user should know although the work goes on.
template <typename... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  say({.kind = Remark::Kind::warning, .text = fmt::format(format, std::forward<Args>(args)...)});
}

/// What a verb was asked for, on stdout.
template <typename... Args>
void show(fmt::format_string<Args...> format, Args&&... args) {
  print_result(fmt::format(format, std::forward<Args>(args)...));
}

/// What came of a verb that writes files, on stdout unless --quiet.
template <typename... Args>
void summarise(fmt::format_string<Args...> format, Args&&... args) {
  if (shows(MessageLevel::info)) print_result(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace ptyche
