// The only place that prints errors and chooses the exit code.
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/parse.h"
#include "ptyche/core/error.h"

namespace {

/// glibc gives large blocks back to the system at once; training asks for the same ones again in
/// every step, and would spend more time on page faults than on arithmetic.
void keep_memory_pages() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 2'000'000'000);
  mallopt(M_TOP_PAD, 256 << 20);
}

/// OpenMP's threads wait for each other by spinning, which on a machine with other work to do costs
/// ten times the time (measured: 77 s against 6 s with one core busy). The library reads its
/// settings before main, so the program starts itself again with a short spin, unless the user has
/// chosen.
void wait_without_spinning(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "2000", 1);
  execv("/proc/self/exe", argv);  // returns only where it failed: then the work is slow, not wrong
}

/// Prints the error and returns the exit code that goes with it.
int report_error(const char* kind, const std::string& text, int code) {
  fmt::print(stderr, "ptyche: {}{}\n", kind, text);
  return code;
}

/// LibTorch appends its own call stack, which tells a user nothing.
std::string without_stack(const std::string& text) {
  return text.substr(0, text.find("\nException raised from"));
}

}  // namespace

int main(int argc, char** argv) {
  wait_without_spinning(argv);
  keep_memory_pages();
  try {
    ptyche::run_command_line(ptyche::all_commands(), {argv + 1, argv + argc});
    return 0;
  } catch (const ptyche::UsageError& error) {
    return report_error("", error.what(), 2);
  } catch (const ptyche::InvalidInput& error) {
    return report_error("error: ", error.what(), 1);
  } catch (const ptyche::FailedImage& error) {
    return report_error("failed: ", error.what(), 4);
  } catch (const ptyche::Interrupted& error) {
    return report_error("interrupted: ", error.what(), 130);
  } catch (const std::exception& error) {
    return report_error("internal error, please report it: ", without_stack(error.what()), 3);
  }
}
