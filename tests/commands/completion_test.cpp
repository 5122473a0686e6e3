#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "ptyche/commands/help.h"
#include "tests/commands/sample_command.h"

namespace ptyche {
namespace {

/// What bash offers when the cursor stands at the end of the last of `words`.
std::string offered(const std::string& words, int cursor) {
  Sample sample;
  const auto script = std::filesystem::path(testing::TempDir()) / "ptyche_completion_test.sh";
  std::ofstream(script) << bash_completion({sample_command(sample)}) << "COMP_WORDS=(" << words
                        << "); COMP_CWORD=" << cursor << "; _ptyche\n"
                        << "echo \"${COMPREPLY[*]}\"\n";
  FILE* pipe = popen(("bash '" + script.string() + "' 2>&1").c_str(), "r");
  std::string output;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) output += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0);
  std::filesystem::remove(script);
  return output;
}

TEST(BashCompletion, OffersTheVerbs) { EXPECT_EQ(offered("ptyche sam", 1), "sample\n"); }

TEST(BashCompletion, OffersTheOptionsOfTheVerb) {
  EXPECT_EQ(offered("ptyche sample --e", 2), "--epochs\n");
}

TEST(BashCompletion, OffersTheChoicesOfTheOptionBeforeTheCursor) {
  EXPECT_EQ(offered("ptyche sample --device c", 3), "cpu cuda\n");
}

TEST(BashCompletion, LeavesFileNamesToTheShell) {
  EXPECT_EQ(offered("ptyche sample scan", 2), "\n");
}

}  // namespace
}  // namespace ptyche
