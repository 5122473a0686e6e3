#include "ptyche/core/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace ptyche {
namespace {

/// A file descriptor 2 that is a terminal, as long as this lives.
class TerminalAsStderr {
 public:
  TerminalAsStderr() : saved_(dup(STDERR_FILENO)), controller_(posix_openpt(O_RDWR | O_NOCTTY)) {
    if (controller_ < 0 || grantpt(controller_) != 0 || unlockpt(controller_) != 0) return;
    const int terminal = open(ptsname(controller_), O_RDWR | O_NOCTTY);
    if (terminal < 0) return;
    dup2(terminal, STDERR_FILENO);
    close(terminal);
  }
  ~TerminalAsStderr() {
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    if (controller_ >= 0) close(controller_);
  }
  bool works() const { return isatty(STDERR_FILENO) != 0; }
  /// All that was written: the kernel hands it over in parts and a little later.
  std::string written() const {
    std::string text;
    std::array<char, 4096> buffer{};
    pollfd ready{controller_, POLLIN, 0};
    while (poll(&ready, 1, /*milliseconds=*/100) > 0) {
      const ssize_t size = read(controller_, buffer.data(), buffer.size());
      if (size <= 0) break;
      text.append(buffer.data(), static_cast<std::size_t>(size));
    }
    return text;
  }

 private:
  int saved_, controller_;
};

TEST(FormatDuration, SpeaksInTheTwoLargestUnits) {
  EXPECT_EQ(format_duration(-3), "0 s");
  EXPECT_EQ(format_duration(44.6), "45 s");
  EXPECT_EQ(format_duration(59.7), "1 min 0 s");
  EXPECT_EQ(format_duration(200), "3 min 20 s");
  EXPECT_EQ(format_duration(7500), "2 h 5 min");
}

/// Everything is said while it lives.
class Verbose {
 public:
  Verbose() { begin_messages({.verbose = true}); }
  ~Verbose() { begin_messages({}); }
};

void fifty_steps() {
  Progress progress("training", 50, "patterns");
  for (int epoch = 1; epoch <= 50; ++epoch) progress.step(epoch, 100 * epoch, "loss 1.5");
}

TEST(Progress, OfAShortRunSaysNothingWhereThereIsNoTerminal) {
  testing::internal::CaptureStderr();
  fifty_steps();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Progress, SaysTheFirstAndTheLastStepToThoseWhoWantToFollow) {
  const Verbose verbose;
  testing::internal::CaptureStderr();
  fifty_steps();
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_EQ(text.rfind("training [....................] 1/50", 0), 0U) << text;
  EXPECT_NE(text.find("training [####################] 50/50"), std::string::npos) << text;
  EXPECT_NE(text.find("patterns/s  0 s left  loss 1.5\n"), std::string::npos) << text;
}

TEST(Progress, RedrawsOneLineOnATerminalAndTakesItAway) {
  const TerminalAsStderr terminal;
  if (!terminal.works()) GTEST_SKIP() << "no pseudo terminal here";
  {
    Progress progress("solving", 4, "patterns");
    progress.step(1, 10, "first");
    progress.step(4, 40, "last");
    EXPECT_EQ(terminal.written().find('\n'), std::string::npos);
    progress.finish();
  }
  EXPECT_EQ(terminal.written(), "\r\033[K");
}

TEST(Progress, NeverSharesALineWithAMessage) {
  const TerminalAsStderr terminal;
  if (!terminal.works()) GTEST_SKIP() << "no pseudo terminal here";
  {
    Progress progress("solving", 4, "patterns");
    progress.step(1, 10, "first");
    note("a message");
    progress.step(4, 40, "last");
  }
  const std::string text = terminal.written();
  EXPECT_NE(text.find("first\r\033[Ka message\r\n\r\033[Ksolving"), std::string::npos) << text;
}

TEST(Progress, DrawsNoBarWhereTheUserWantsQuiet) {
  const TerminalAsStderr terminal;
  if (!terminal.works()) GTEST_SKIP() << "no pseudo terminal here";
  begin_messages({.quiet = true});
  fifty_steps();
  note("a message");
  warn("a warning");
  begin_messages({});
  EXPECT_EQ(terminal.written(), "warning: a warning\r\n");
}

TEST(Progress, SaysNoRateAtTheFirstStepBeforeWhichNothingIsKnown) {
  const Verbose verbose;
  testing::internal::CaptureStderr();
  {
    Progress progress("infer", 100, "patterns");
    progress.step(64, 64, "half");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "infer [############........] 64/100  half\n");
}

}  // namespace
}  // namespace ptyche
