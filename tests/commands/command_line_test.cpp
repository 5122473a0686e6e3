#include "ptyche/commands/command_line.h"

#include <gtest/gtest.h>

#include "ptyche/commands/parse.h"
#include "ptyche/core/files.h"
#include "tests/commands/sample_command.h"

namespace ptyche {
namespace {

/// What the words print to stdout, for a program with the one verb `sample`, whose run prints
/// "ran".
std::string printed(const std::vector<std::string>& words) {
  Sample sample;
  Command command = sample_command(sample);
  command.run = [&sample] { std::printf("ran with %d", static_cast<int>(sample.epochs)); };
  testing::internal::CaptureStdout();
  try {
    run_command_line({command}, words);
  } catch (...) {
    testing::internal::GetCapturedStdout();
    throw;
  }
  return testing::internal::GetCapturedStdout();
}

TEST(RunCommandLine, RunsTheVerbAfterParsing) {
  EXPECT_EQ(printed({"sample", "s", "--epochs", "3"}), "ran with 3");
}

TEST(RunCommandLine, PrintsHelpInsteadOfRunningWhereverItIsAskedFor) {
  for (const char* word : {"--help", "-h", "--help-all"}) {
    EXPECT_TRUE(printed({"sample", "s", word}).starts_with("usage: ptyche sample SCAN"));
    EXPECT_TRUE(printed({word}).starts_with("usage: ptyche COMMAND"));
  }
  EXPECT_TRUE(printed({}).starts_with("usage: ptyche COMMAND"));
  EXPECT_EQ(printed({"help", "sample"}), printed({"sample", "--help"}));
}

TEST(RunCommandLine, PrintsItsVersion) {
  EXPECT_EQ(printed({"--version"}), "ptyche " + version() + " (" + commit() + ")\n");
}

TEST(RunCommandLine, RefusesAnUnknownVerbWithTheNearestName) {
  try {
    printed({"smaple"});
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'sample'"), std::string::npos);
  }
}

TEST(RunCommandLine, PointsToTheVerbsHelpWhenItsOptionsAreWrong) {
  try {
    printed({"sample", "s", "--nonsense"});
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("ptyche sample --help"), std::string::npos);
  }
}

}  // namespace
}  // namespace ptyche
