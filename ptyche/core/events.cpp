#include "ptyche/core/events.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/messages.h"

namespace ptyche {
namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::system_clock;

constexpr auto kLookForParent = std::chrono::milliseconds(200);
constexpr auto kTimeToSave = std::chrono::seconds(5);

/// The process's one listener.
struct Listener {
  std::mutex mutex;
  int descriptor = -1;
  Clock::time_point start = Clock::now();
};

Listener& listener() {
  static Listener one;
  return one;
}

double seconds_of(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

/// A pipe that is full is waited for; any other failure is the end of the listener.
void write_line(Listener& to, std::string_view line) {
  while (to.descriptor >= 0 && !line.empty()) {
    const ssize_t written = write(to.descriptor, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) to.descriptor = -1;
    if (written > 0) line.remove_prefix(static_cast<std::size_t>(written));
  }
}

void require_open_for_writing(std::int64_t descriptor) {
  const int flags = fcntl(static_cast<int>(descriptor), F_GETFL);
  require(flags >= 0 && (flags & O_ACCMODE) != O_RDONLY,
          "--events-fd: expected a file descriptor that is open for writing, found {}{}",
          descriptor, flags < 0 ? ", which is not open" : ", which is open for reading");
}

/// Events alone stay on stdout; what verbs print goes to stderr from now on.
int stdout_for_events() {
  const int own = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  require(own >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0, "--events-fd: {}",
          "stdout cannot be kept for events");
  return own;
}

/// Who started this one may be killed without a word, and its threads and forks may outlive it:
/// only the number of the parent tells. The state is saved as for Ctrl-C, if that does not take
/// long.
void watch_parent(std::int64_t parent) {
  std::thread([parent] {
    while (getppid() == parent) std::this_thread::sleep_for(kLookForParent);
    kill(getpid(), SIGTERM);
    std::this_thread::sleep_for(kTimeToSave);
    kill(getpid(), SIGKILL);
  }).detach();
}

}  // namespace

std::vector<Field> fields(EventOptions& options) {
  return {
      {.name = "events",
       .target = &options.format,
       .help = "events for another program that follows the work: json, one JSON object a line "
               "(docs/events.md)",
       .choices = {"none", "json"},
       .affects_result = false},
      {.name = "events-fd",
       .target = &options.descriptor,
       .help = "open file descriptor for the events; with 1, stdout, all other text goes to stderr",
       .range = {1, 1 << 20},
       .affects_result = false},
      {.name = "parent",
       .target = &options.parent,
       .help = "process id of the caller: when it has ended, this process saves its state and ends "
               "too; 0 = it goes on",
       .range = {0, 4194304},
       .affects_result = false}};
}

void begin_events(const EventOptions& options) {
  require(options.parent == 0 || options.parent == getppid(),
          "--parent: expected the process that started this one, {}, found {}", getppid(),
          options.parent);
  if (options.parent != 0) watch_parent(options.parent);
  if (options.format == "none") return;
  require_open_for_writing(options.descriptor);
  const int descriptor = options.descriptor == STDOUT_FILENO ? stdout_for_events()
                                                             : static_cast<int>(options.descriptor);
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  listener().descriptor = descriptor;
  send_event("started", {{"version", version()},
                         {"commit", commit()},
                         {"process", getpid()},
                         {"command", command_line()}});
}

bool sends_events() { return listener().descriptor >= 0; }

void send_event(const std::string& name, const ordered_json& details) {
  if (!sends_events() || silent()) return;
  ordered_json event{{"event", name}, {"time", seconds_of(Clock::now().time_since_epoch())}};
  event.update(details);
  const std::string line =
      event.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  const std::lock_guard lock(listener().mutex);
  write_line(listener(), line);
}

void send_end(int exit_code, const char* how, const std::string& message) {
  const bool finished = exit_code == 0 || exit_code == 4 || exit_code == 130;
  send_event(finished ? "finished" : "error",
             {{"exit_code", exit_code},
              {finished ? "status" : "kind", how},
              {"message", message},
              {"seconds", seconds_of(Clock::now() - listener().start)}});
}

}  // namespace ptyche
