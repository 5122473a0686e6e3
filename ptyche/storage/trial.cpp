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
constexpr std::chrono::seconds kPatience{120};  // of a slow disk; a process that works is stopped
                                                // after kTrialSeconds

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

/// The state with which the process ended; SIGKILL's where it had to be ended.
int state_at_end(pid_t process) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  auto pause = std::chrono::microseconds(200);
  for (int state = 0;;) {
    const pid_t ended = waitpid(process, &state, WNOHANG);
    if (ended == process) return state;
    if (ended < 0 && errno != EINTR) return 0;  // nobody to wait for: its verdict is not known
    if (Clock::now() - start > kPatience) kill(process, SIGKILL);
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
                           const std::function<TrialEnd(const char*)>& work) {
  const std::string name = file.string();
  const rlim_t memory =
      mapped_bytes() + kExtraMemory + static_cast<rlim_t>(std::filesystem::file_size(file));
  const pid_t process = fork();
  require(process >= 0, "no process could be made that tries the file");
  if (process == 0) run_trial(name.c_str(), memory, work);
  return fault_of(state_at_end(process));
}

}  // namespace ptyche
