// The program as a process: what it prints where, and its exit code.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace ptyche {
namespace {

struct Outcome {
  int code;
  std::string output;  ///< stdout, or stderr if that was asked for
};

/// Runs ptyche with `arguments` (shell text), its stderr or else its stdout caught.
Outcome run(const std::string& arguments, bool catch_stderr) {
  const std::string redirect = catch_stderr ? " 2>&1 >/dev/null" : " 2>/dev/null";
  FILE* pipe = popen(("'" PTYCHE_BINARY "' " + arguments + redirect).c_str(), "r");
  std::string output;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) output += static_cast<char>(c);
  return {WEXITSTATUS(pclose(pipe)), output};
}

TEST(ExitCode, IsZeroForHelpAndVersionWhichGoToStdout) {
  for (const char* arguments : {"--help", "--version", "completion --help", ""}) {
    EXPECT_EQ(run(arguments, false).code, 0) << arguments;
    EXPECT_NE(run(arguments, false).output, "") << arguments;
    EXPECT_EQ(run(arguments, true).output, "") << arguments;
  }
}

TEST(ExitCode, IsTwoForACommandLineThatIsNotUnderstood) {
  for (const char* arguments : {"nonsense", "completion", "completion bash --nonsense"}) {
    const Outcome outcome = run(arguments, true);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_TRUE(outcome.output.starts_with("ptyche: ")) << outcome.output;
    EXPECT_EQ(run(arguments, false).output, "") << arguments;
  }
}

TEST(ExitCode, IsOneForInputThatIsWrong) {
  const Outcome outcome = run("completion nonsense", true);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(outcome.output.starts_with("ptyche: error: ")) << outcome.output;
}

}  // namespace
}  // namespace ptyche
