#include "ptyche/core/output_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "tests/support/refusal.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

const RunFiles kFiles{.names = {"image", "scores"}, .last = "scores", .checkpoint = "checkpoint"};

std::string refusal(const fs::path& folder, FolderUse use) {
  return message_of([&] { const OutputFolder taken(folder, use, kFiles); });
}

TEST(OutputFolder, IsLeftWithoutTheLockAndWithWhatIsNotOfTheRun) {
  const TestFolder folder;
  write_text(folder / "scan", "of the user");
  { const OutputFolder taken(folder.path(), FolderUse::fresh, kFiles); }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(OutputFolder, LosesWhatAKilledRunHasLeft) {
  const TestFolder folder;
  const fs::path half_removed = folder / ".ptyche.000123.part";
  fs::create_directories(half_removed);
  write_text(half_removed / "attempt_3.h5", "");
  write_text(folder / ".ptyche.aB3xYz.part", "");
  { const OutputFolder taken(folder.path(), FolderUse::fresh, kFiles); }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(OutputFolder, WithResultsIsRefusedAndNothingInItChanged) {
  const TestFolder folder;
  write_text(folder / "image", "old");
  const std::string message = refusal(folder.path(), FolderUse::fresh);
  EXPECT_NE(message.find("expected a folder without results, found image"), std::string::npos);
  EXPECT_NE(message.find("--overwrite"), std::string::npos) << message;
  EXPECT_EQ(read_bytes(folder / "image"), "old");
  EXPECT_FALSE(fs::exists(folder / ".ptyche.lock"));
}

TEST(OutputFolder, OverwrittenMovesTheResultsOfARunAndNothingElse) {
  const TestFolder folder;
  const fs::path out = folder / "out";
  for (int run = 0; run < 3; ++run) {
    fs::create_directories(out);
    write_text(out / "image", std::to_string(run));
    write_text(out / "scan", "of the user");
    { const OutputFolder taken(out / "", FolderUse::overwrite, kFiles); }
    EXPECT_FALSE(fs::exists(out / "image"));
    EXPECT_TRUE(fs::exists(out / "scan"));
  }
  EXPECT_EQ(read_bytes(folder / "out.old" / "image"), "0");
  EXPECT_EQ(read_bytes(folder / "out.old.2" / "image"), "1");
  EXPECT_EQ(read_bytes(folder / "out.old.3" / "image"), "2");
}

TEST(OutputFolder, IsResumedFromItsCheckpointAndNotWhereTheRunHasEnded) {
  const TestFolder folder;
  EXPECT_EQ(refusal(folder.path(), FolderUse::resume), "");
  write_text(folder / "image", "of a run that was killed before its first checkpoint");
  EXPECT_EQ(refusal(folder.path(), FolderUse::resume), "");
  write_text(folder / "scores", "");
  EXPECT_NE(refusal(folder.path(), FolderUse::resume).find("has come to its end"),
            std::string::npos);
  write_text(folder / "checkpoint", "");
  EXPECT_EQ(refusal(folder.path(), FolderUse::resume), "");
  EXPECT_NE(refusal(folder.path(), FolderUse::fresh).find("give --resume to go on"),
            std::string::npos);
  EXPECT_EQ(read_bytes(folder / "checkpoint"), "");
}

/// What another process is told that wants the folder: 1 if it is refused.
int code_of_another(const fs::path& folder) {
  const pid_t other = fork();
  if (other == 0) {
    const std::string message = refusal(folder, FolderUse::overwrite);
    const std::string expected = "process " + std::to_string(getppid());
    _exit(message.find(expected) != std::string::npos ? 1 : message.empty() ? 0 : 2);
  }
  int state = 0;
  waitpid(other, &state, 0);
  return WEXITSTATUS(state);
}

TEST(OutputFolder, IsOneRunsAloneAndFreeAgainWhenItsProcessIsKilled) {
  const TestFolder folder;
  {
    const OutputFolder taken(folder.path(), FolderUse::fresh, kFiles);
    EXPECT_EQ(code_of_another(folder.path()), 1);
  }
  EXPECT_EQ(code_of_another(folder.path()), 0);
  const pid_t killed = fork();
  if (killed == 0) {
    const OutputFolder taken(folder.path(), FolderUse::fresh, kFiles);
    std::ofstream(folder / ".ptyche.abcdef.part") << "half";
    raise(SIGKILL);
  }
  waitpid(killed, nullptr, 0);
  EXPECT_TRUE(fs::exists(folder / ".ptyche.lock"));
  EXPECT_EQ(refusal(folder.path(), FolderUse::fresh), "");
  EXPECT_TRUE(fs::is_empty(folder.path()));  // neither the lock nor the half file
}

TEST(OutputFolder, ALinkInPlaceOfTheLockIsNotFollowed) {
  const TestFolder folder;
  write_text(folder / "victim", "whole");
  fs::create_symlink(folder / "victim", folder / ".ptyche.lock");
  EXPECT_NE(refusal(folder.path(), FolderUse::fresh), "");
  EXPECT_EQ(read_bytes(folder / "victim"), "whole");
}

TEST(Harmless, LeavesLettersOfAnyLanguageAndNoControlCharacter) {
  EXPECT_EQ(harmless("a\tb\n\u00e4\u4e2d"), "a\tb\n\u00e4\u4e2d");
  EXPECT_EQ(harmless("\x1b[2Jx\r\x7f"), "\\x1b[2Jx\\x0d\\x7f");
  EXPECT_EQ(harmless("\xc2\x9bq"), "\xc2\\x9bq");
}

}  // namespace
}  // namespace ptyche
