#include "tests/support/run_program.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace ptyche {
namespace {

Outcome outcome_of(int status, const std::string& prefix) {
  const Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                        file_bytes(prefix + ".out"), file_bytes(prefix + ".err")};
  std::filesystem::remove(prefix + ".out");
  std::filesystem::remove(prefix + ".err");
  return outcome;
}

/// Where the program's two streams go while it runs.
std::string stream_prefix() {
  return (std::filesystem::temp_directory_path() / ("ptyche_run_" + std::to_string(getpid())))
      .string();
}

/// Returns when `text` stands in `file`, after a minute at the latest.
void wait_for(const std::string& text, const std::string& file) {
  for (int tries = 0; tries < 1200; ++tries) {
    if (file_bytes(file).find(text) != std::string::npos) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

std::string command_line(const std::string& arguments, const std::string& file = PTYCHE_BINARY) {
  return "exec '" + file + "' " + arguments + " >" + stream_prefix() + ".out 2>" + stream_prefix() +
         ".err </dev/null";
}

}  // namespace

std::string python_program() { return PTYCHE_PYTHON; }

std::string file_bytes(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

std::string built_file(const std::string& name) {
  return std::filesystem::path(PTYCHE_BINARY).parent_path() / name;
}

Outcome run_file(const std::string& file, const std::string& arguments) {
  return outcome_of(std::system(command_line(arguments, file).c_str()), stream_prefix());
}

Outcome run_ptyche(const std::string& arguments) { return run_file(PTYCHE_BINARY, arguments); }

Outcome run_ptyche_and_interrupt(const std::string& arguments, const std::string& sign) {
  const std::string line = command_line(arguments + " --verbose");
  std::filesystem::remove(stream_prefix() + ".err");
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  wait_for(sign, stream_prefix() + ".err");
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  return outcome_of(status, stream_prefix());
}

}  // namespace ptyche
