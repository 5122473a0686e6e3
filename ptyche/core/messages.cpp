#include "ptyche/core/messages.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>
#include <nlohmann/json.hpp>

#include "ptyche/core/error.h"
#include "ptyche/core/events.h"
#include "ptyche/core/files.h"

namespace ptyche {
namespace {

/// The program's one voice: its streams are the process's own.
struct Voice {
  std::recursive_mutex mutex;
  MessageLevel level = MessageLevel::info, log_level = MessageLevel::debug;
  int log = -1;
  bool bar = false;  ///< the terminal's last line is a bar
  int output_error = 0;
  std::vector<HeardRemarks*> listeners;
};

Voice& voice() {
  static Voice one;
  return one;
}

thread_local int silences = 0;

/// What stderr does not take is lost: it may be closed or full, and the work goes on.
void to_stderr(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stderr); }

const char* word_of(MessageLevel level) {
  const char* const words[] = {"error", "warning", "info", "debug"};
  return words[static_cast<int>(level)];
}

std::string local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  localtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts)};
}

/// In one piece, so that lines of several programs do not mix.
void to_log(MessageLevel level, const std::string& text) {
  if (voice().log < 0 || level > voice().log_level) return;
  const std::string line = fmt::format("{} {:<7} {}\n", local_time(), word_of(level), text);
  if (write(voice().log, line.data(), line.size()) == static_cast<ssize_t>(line.size())) return;
  const std::string reason = std::strerror(errno);
  close(voice().log);
  voice().log = -1;
  warn("--log: {}; it ends here", reason);
}

/// What fails is kept for output_failure.
void flush_results() {
  errno = 0;
  if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && voice().output_error == 0)
    voice().output_error = errno != 0 ? errno : EIO;
}

/// Appended to; a FIFO that nobody reads is refused and not waited for.
int opened_log(const std::filesystem::path& file) {
  const int log = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666);
  require(log >= 0, "--log: {}: {}", file.string(), std::strerror(errno));
  struct stat found = {};
  const bool usable = fstat(log, &found) == 0 && !S_ISFIFO(found.st_mode);
  if (!usable) close(log);
  require(usable, "--log: {}: expected a file that can be appended to, found a FIFO",
          file.string());
  return log;
}

}  // namespace

std::vector<Field> fields(MessageOptions& options) {
  return {{.name = "quiet",
           .target = &options.quiet,
           .help = "warnings and errors alone, no progress, no summary",
           .short_name = "q",
           .affects_result = false},
          {.name = "verbose",
           .target = &options.verbose,
           .help = "every step and all scores",
           .short_name = "v",
           .affects_result = false},
          {.name = "log",
           .target = &options.log,
           .help = "file to which all messages are added, each with its time",
           .affects_result = false},
          {.name = "log-level",
           .target = choice(options.log_level, {{"error", MessageLevel::error},
                                                {"warning", MessageLevel::warning},
                                                {"info", MessageLevel::info},
                                                {"debug", MessageLevel::debug}}),
           .help = "least important messages in that file",
           .affects_result = false}};
}

void begin_messages(const MessageOptions& options) {
  require(!options.quiet || !options.verbose,
          "--quiet and --verbose: expected one of them, found {}", "both");
  Voice& all = voice();
  const std::lock_guard lock(all.mutex);
  all.level = options.quiet     ? MessageLevel::warning
              : options.verbose ? MessageLevel::debug
                                : MessageLevel::info;
  all.log_level = MessageLevel::debug;  // the first line is there at any level
  if (!options.log.empty()) {
    all.log = opened_log(options.log);
    to_log(MessageLevel::info,
           fmt::format("ptyche {} ({}): {}", version(), commit(), command_line()));
  }
  all.log_level = options.log_level;
}

bool shows(MessageLevel level) { return level <= voice().level; }

Silence::Silence() { ++silences; }

Silence::~Silence() { --silences; }

bool silent() { return silences > 0; }

HeardRemarks::HeardRemarks() {
  const std::lock_guard lock(voice().mutex);
  voice().listeners.push_back(this);
}

HeardRemarks::~HeardRemarks() {
  const std::lock_guard lock(voice().mutex);
  std::erase(voice().listeners, this);
}

std::vector<Remark> HeardRemarks::list() const {
  const std::lock_guard lock(voice().mutex);
  return heard_;
}

std::string harmless(const std::string& text) {
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F, which some terminals obey, are c2 80 to c2 9f in UTF-8.
    const bool second = i > 0 && text[i - 1] == '\xc2' && byte >= 0x80 && byte < 0xa0;
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
    if (control || second)
      shown += fmt::format("\\x{:02x}", byte);
    else
      shown += text[i];
  }
  return shown;
}

void print_message(MessageLevel level, const std::string& text) {
  if (silences > 0 && level != MessageLevel::error) return;
  const std::lock_guard lock(voice().mutex);
  const std::string shown = harmless(text);
  if (shows(level)) {
    flush_results();  // where both go to one file, a message comes behind what was printed before
                      // it
    remove_bar();
    to_stderr((level == MessageLevel::warning ? "warning: " : "") + shown + "\n");
  }
  to_log(level, shown);
}

void say(const Remark& remark, bool shown) {
  if (silences > 0) return;
  const std::lock_guard lock(voice().mutex);
  for (HeardRemarks* listener : voice().listeners) listener->heard_.push_back(remark);
  const std::string line =
      remark.cause.empty() ? remark.text : fmt::format("{}: {}", remark.cause, remark.text);
  nlohmann::ordered_json details = to_json({remark}).front();
  details.erase("kind");
  details.erase("text");
  details["message"] = line;
  send_event(to_string(remark.kind), details);
  const MessageLevel level = !shown                                 ? MessageLevel::debug
                             : remark.kind == Remark::Kind::warning ? MessageLevel::warning
                                                                    : MessageLevel::info;
  print_message(level, (remark.kind == Remark::Kind::correction ? "corrected: " : "") + line);
}

void print_result(const std::string& text) {
  const std::lock_guard lock(voice().mutex);
  remove_bar();
  const std::string shown = harmless(text);
  errno = 0;
  const bool whole = std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size();
  if (!whole && voice().output_error == 0) voice().output_error = errno != 0 ? errno : EIO;
}

std::string output_failure() {
  flush_results();
  return voice().output_error != 0 ? std::strerror(voice().output_error) : "";
}

void print_bar(const std::string& line) {
  if (silences > 0 || !shows(MessageLevel::info)) return;
  const std::lock_guard lock(voice().mutex);
  to_stderr("\r\033[K" + harmless(line));
  voice().bar = true;
}

void remove_bar() {
  const std::lock_guard lock(voice().mutex);
  if (voice().bar) to_stderr("\r\033[K");
  voice().bar = false;
}

}  // namespace ptyche
