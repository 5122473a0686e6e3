#include "ptyche/commands/completion.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "tests/commands/sample_command.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

/// What `shell` prints for the completion script of the sample followed by `more`.
std::string output_of(const std::string& shell, const std::string& more) {
  Sample sample;
  const auto script = std::filesystem::path(testing::TempDir()) / ("ptyche_completion." + shell);
  std::ofstream(script) << more.substr(0, more.find('@'))
                        << completion(shell, {sample_command(sample)})
                        << more.substr(more.find('@') + 1);
  FILE* pipe = popen((shell + " '" + script.string() + "' 2>&1").c_str(), "r");
  std::string output;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) output += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0) << output;
  std::filesystem::remove(script);
  return output;
}

bool is_there(const std::string& shell) {
  return std::system(("command -v " + shell + " >/dev/null").c_str()) == 0;
}

/// What bash offers when the cursor stands at the end of the last of `words`.
std::string offered(const std::string& words, int cursor) {
  return output_of("bash", "@COMP_WORDS=(" + words + "); COMP_CWORD=" + std::to_string(cursor) +
                               "; _ptyche\necho \"${COMPREPLY[*]}\"\n");
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

/// What zsh's function hands to `compadd`, or "files" where it leaves names to the shell.
std::string offered_by_zsh(const std::string& words, int cursor) {
  return output_of("zsh",
                   "compdef() { }; compadd() { shift; print -- $* }; _files() { print files }\n"
                   "@words=(" +
                       words + "); CURRENT=" + std::to_string(cursor) + "; _ptyche\n");
}

TEST(ZshCompletion, OffersVerbsOptionsChoicesAndFiles) {
  if (!is_there("zsh")) GTEST_SKIP() << "no zsh here";
  EXPECT_EQ(offered_by_zsh("ptyche s", 2), "help --help --version sample\n");
  EXPECT_NE(offered_by_zsh("ptyche sample --e", 3).find(" --epochs "), std::string::npos);
  EXPECT_EQ(offered_by_zsh("ptyche sample --device c", 4), "auto cpu cuda\n");
  EXPECT_EQ(offered_by_zsh("ptyche sample scan", 3), "files\n");
}

TEST(ZshCompletion, WorksAtTheFirstTabFromAFolderOfZshsCompletions) {
  if (!is_there("zsh")) GTEST_SKIP() << "no zsh here";
  Sample sample;
  const TestFolder folder;
  std::ofstream(folder / "_ptyche") << completion("zsh", {sample_command(sample)});
  EXPECT_EQ(output_of("zsh", "fpath=('" + (folder / "").string() + "'); autoload -U _ptyche\n" +
                                 "compadd() { shift; print -- $* }; words=(ptyche s); CURRENT=2\n" +
                                 "_ptyche; exit\n@"),
            "help --help --version sample\n");
}

TEST(FishCompletion, OffersVerbsOptionsAndChoices) {
  if (!is_there("fish")) GTEST_SKIP() << "no fish here";
  const auto of = [](const std::string& words) {
    return output_of("fish", "@complete -C '" + words + "'\n");
  };
  EXPECT_EQ(of("ptyche sam"), "sample\tdo nothing with a scan\n");
  EXPECT_EQ(of("ptyche sample --ep"), "--epochs\tpasses over the scan\n");
  const std::string choices = of("ptyche sample --device c");
  EXPECT_NE(choices.find("cpu\t"), std::string::npos) << choices;
  EXPECT_NE(choices.find("cuda\t"), std::string::npos) << choices;
}

}  // namespace
}  // namespace ptyche
