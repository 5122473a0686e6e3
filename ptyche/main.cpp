// The program behind the command `ptyche` (launch.cpp): the only place that prints errors and
// chooses the exit code.
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/parse.h"
#include "ptyche/core/error.h"
#include "ptyche/core/events.h"
#include "ptyche/core/memory.h"
#include "ptyche/core/progress.h"
#include "ptyche/core/ranks.h"
#include "ptyche/dynamic_linker.h"
#include "ptyche/infer/by_ranks.h"
#include "ptyche/solve/shares.h"
#include "ptyche/train/together.h"

namespace {

namespace ending = ptyche::ending;

/// glibc gives large blocks back to the system at once; training asks for the same ones again in
/// every step, and would spend more time on page faults than on arithmetic.
void keep_memory_pages() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 2'000'000'000);
  mallopt(M_TOP_PAD, 256 << 20);
}

/// A file that is opened must not get the number of a closed stream, or what is printed would go
/// into it. What goes to a closed stdout fails; what goes to a closed stderr is lost.
void fill_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0)
      open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
}

/// Prints the error, tells it to who listens, and returns the exit code that goes with it.
int report_error(const char* prefix, const std::string& text, int code, const char* how) {
  ptyche::print_message(ptyche::MessageLevel::error, fmt::format("ptyche: {}{}", prefix, text));
  ptyche::send_end(code, how, text);
  return code;
}

/// The exit code of work that is done: 1 where its output is lost.
int code_of_output() {
  const std::string failure = ptyche::output_failure();
  if (!failure.empty())
    return report_error("error: ", "the output could not be written: " + failure, 1,
                        ending::kInvalidInput);
  ptyche::send_end(0, ending::kDone, "");
  return 0;
}

/// LibTorch appends its own call stack, which tells a user nothing.
std::string without_stack(const std::string& text) {
  return text.substr(0, text.find("\nException raised from"));
}

/// The program as a user knows it: what `words` ask for, on rank 0 where several processes were
/// started together. Returns the exit code.
int carried_out(int argc, char** argv) {
  try {
    ptyche::use_memory({});  // a verb that has --memory decides anew
    const std::vector<ptyche::Command> commands = ptyche::all_commands();
    const std::vector<std::string> words(argv + 1, argv + argc);
    ptyche::hide_secrets(commands, argc, argv);
    ptyche::run_command_line(commands, words);
    return code_of_output();
  } catch (const ptyche::UsageError& error) {
    return report_error("", error.what(), 2, ending::kUsage);
  } catch (const ptyche::Diverged& error) {
    return report_error("error: ", error.what(), 1, ending::kDiverged);
  } catch (const ptyche::InvalidInput& error) {
    return report_error("error: ", error.what(), 1, ending::kInvalidInput);
  } catch (const ptyche::RankFailure& error) {
    return report_error("error: ", error.what(), 1, ending::kInvalidInput);
  } catch (const ptyche::FailedImage& error) {
    return report_error("failed: ", error.what(), 4, ending::kFailed);
  } catch (const ptyche::Interrupted& error) {
    return report_error("interrupted: ", error.what(), 130, ending::kInterrupted);
  } catch (const std::exception& error) {
    const std::string refused = ptyche::system_message(error);
    if (!refused.empty()) return report_error("error: ", refused, 1, ending::kInvalidInput);
    return report_error("internal error, please report it: ", without_stack(error.what()), 3,
                        ending::kInternal);
  }
}

/// Every other rank: it answers rank 0 and says nothing. What it cannot even answer ends all ranks.
int answered_rank_0() {
  try {
    ptyche::use_memory({});
    ptyche::serve_rank_0({{ptyche::Question::infer, ptyche::answer_inference},
                          {ptyche::Question::train, ptyche::train_with_rank_0}});
    return 0;
  } catch (const std::exception& error) {
    const std::string text = fmt::format("rank {} on {}: {}", ptyche::ranks().own,
                                         ptyche::ranks().host, without_stack(error.what()));
    report_error("error: ", text, 3, ending::kInternal);
    ptyche::end_all_ranks(3);
  }
}

}  // namespace

int main(int argc, char** argv) {
  ptyche::forget_launcher();
  fill_closed_streams();
  keep_memory_pages();
  // A reader that goes away (| head) must not end long work; what it misses is said at the end.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file over the limit is an error of the write then
  try {
    ptyche::join_ranks();
  } catch (const ptyche::InvalidInput& error) {
    return report_error("error: ", error.what(), 1, ending::kInvalidInput);
  }
  const int code = ptyche::ranks().own == 0 ? carried_out(argc, argv) : answered_rank_0();
  ptyche::leave_ranks();
  return code;
}
