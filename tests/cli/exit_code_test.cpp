// The program as a process: what it prints where, and its exit code.
#include <gtest/gtest.h>

#include "tests/support/run_program.h"

namespace ptyche {
namespace {

TEST(ExitCode, IsZeroForHelpAndVersionWhichGoToStdout) {
  for (const char* arguments : {"--help", "--version", "completion --help", ""}) {
    const Outcome outcome = run_ptyche(arguments);
    EXPECT_EQ(outcome.code, 0) << arguments;
    EXPECT_NE(outcome.output, "") << arguments;
    EXPECT_EQ(outcome.error, "") << arguments;
  }
}

TEST(ExitCode, IsTwoForACommandLineThatIsNotUnderstood) {
  for (const char* arguments : {"nonsense", "completion", "completion bash --nonsense"}) {
    const Outcome outcome = run_ptyche(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_TRUE(outcome.error.starts_with("ptyche: ")) << outcome.error;
    EXPECT_EQ(outcome.output, "") << arguments;
  }
}

TEST(ExitCode, IsOneForInputThatIsWrong) {
  const Outcome outcome = run_ptyche("completion nonsense");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(outcome.error.starts_with("ptyche: error: ")) << outcome.error;
}

}  // namespace
}  // namespace ptyche
