#include "ptyche/storage/trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

// Beside what the program has mapped already: room for the library and for what it unpacks.
constexpr rlim_t kExtraMemory = 1UL << 30;

void limit(int what, rlim_t most) {
  rlimit now{};
  if (getrlimit(static_cast<__rlimit_resource_t>(what), &now) != 0) return;
  now.rlim_cur = std::min(most, now.rlim_max);
  setrlimit(static_cast<__rlimit_resource_t>(what), &now);
}

rlim_t mapped_bytes() {
  std::ifstream status("/proc/self/statm");
  rlim_t pages = 0;
  status >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

[[noreturn]] void run_trial(const char* name, rlim_t memory,
                            const std::function<TrialEnd(const char*)>& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int sign : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU})
    std::signal(sign, SIG_DFL);
  for (const int sign : {SIGINT, SIGTERM, SIGHUP})
    std::signal(sign, SIG_IGN);  // its parent decides
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, kTrialSeconds);
  limit(RLIMIT_AS, memory);
  const int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  TrialEnd end = TrialEnd::no_list;
  try {
    end = work(name);
  } catch (const std::exception&) {  // no memory
    std::abort();
  }
  _exit(static_cast<int>(end));
}

struct End {
  int state = 0;             ///< as waitpid gives it
  bool only_waited = false;  ///< it was ended, and had hardly worked
};

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// How the process ended, if need be by SIGKILL once the patience is at its end.
End end_of(pid_t process, std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  auto pause = std::chrono::microseconds(200);
  bool killed = false;
  for (int state = 0;;) {
    rusage used{};
    const pid_t ended = wait4(process, &state, WNOHANG, &used);
    if (ended == process)
      return {state, killed && seconds_of(used.ru_utime) + seconds_of(used.ru_stime) <
                                   0.5 * static_cast<double>(kTrialSeconds)};
    if (ended < 0 && errno != EINTR) return {};  // nobody to wait for: its verdict is not known
    if (!killed && Clock::now() - start > patience) killed = kill(process, SIGKILL) == 0;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(5000));
  }
}

std::string fault_of(int state) {
  if (WIFEXITED(state)) {
    switch (static_cast<TrialEnd>(WEXITSTATUS(state))) {
      case TrialEnd::sound:
        return "";
      case TrialEnd::no_regular:
        return "a link in it leads to a FIFO or a device";
      default:
        return "its objects cannot be listed";
    }
  }
  const int sign = WTERMSIG(state);
  if (sign == SIGXCPU || sign == SIGKILL)
    return fmt::format("it had not come to an end after {} s of work", kTrialSeconds);
  return fmt::format("it crashed with {}", sigabbrev_np(sign) ? sigabbrev_np(sign) : "a signal");
}

}  // namespace

std::string fault_in_trial(const std::filesystem::path& file,
                           const std::function<TrialEnd(const char*)>& work,
                           const std::vector<std::chrono::milliseconds>& patience) {
  const std::string name = file.string();
  const rlim_t memory =
      mapped_bytes() + kExtraMemory + static_cast<rlim_t>(std::filesystem::file_size(file));
  for (const std::chrono::milliseconds longest : patience) {
    const pid_t process = fork();
    require(process >= 0, "no process could be made that tries the file");
    if (process == 0) run_trial(name.c_str(), memory, work);
    const End end = end_of(process, longest);
    if (!end.only_waited) return fault_of(end.state);
  }
  throw InvalidInput(
      fmt::format("{}: it could not be tried within {} s, nearly all of them waiting: a slow disk, "
                  "or a busy machine",
                  name, std::chrono::duration_cast<std::chrono::seconds>(patience.back()).count()));
}

}  // namespace ptyche
