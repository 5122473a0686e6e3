// The program as a process: what it prints where, and its exit code.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/completion.h"
#include "ptyche/commands/help.h"
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

TEST(HelpPages, AreThoseOfTheProgramItself) {
  for (const char* words : {"", "help", "-h", "--help"})
    EXPECT_EQ(run_ptyche(words).output, program_help(all_commands())) << words;
  EXPECT_EQ(run_ptyche("--version").output, version_text());
  for (const Command& command : all_commands()) {
    EXPECT_EQ(run_ptyche(command.name + " -h").output, command_help(command)) << command.name;
    EXPECT_EQ(run_ptyche(command.name + " --help-all").output, full_command_help(command));
  }
  for (const std::string shell : {"bash", "zsh", "fish"})
    EXPECT_EQ(run_ptyche("completion " + shell).output, completion(shell, all_commands()));
  const std::string late = "solve scan.cxi --help";  // read by the program itself
  EXPECT_EQ(run_ptyche(late).output, run_ptyche("solve --help").output);
}

TEST(HelpPages, NeedNoLibraryOfTheProgram) {
  const std::filesystem::path alone = testing::TempDir() + "ptyche_alone";
  std::filesystem::copy_file(built_file("ptyche"), alone,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(run_file(alone, "solve --help").output, run_ptyche("solve --help").output);
  const Outcome none = run_file(alone, "solve scan.cxi");
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.error.find("ptyche-program: No such file or directory; it belongs beside"),
            std::string::npos)
      << none.error;
  std::filesystem::remove(alone);
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
