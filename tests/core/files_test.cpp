#include "ptyche/core/files.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>

#include "ptyche/core/error.h"
#include "tests/support/refusal.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

/// An empty folder of its own for every test.
class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "ptyche-files-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::ptrdiff_t entries() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }
  fs::path folder_;
};

/// No file of this process may grow beyond `bytes`: what a full disk does, without a disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  sighandler_t handler_;
  rlimit before_{};
};

TEST_F(Files, WhatIsWrittenIsReadBackByteForByte) {
  const std::string content("line\n\0\xff tail", 12);
  write_text(folder_ / "a.bin", content);
  EXPECT_EQ(read_bytes(folder_ / "a.bin"), content);
  write_text(folder_ / "a.bin", "");
  EXPECT_EQ(read_bytes(folder_ / "a.bin"), "");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Files, TheTargetIsWhatItWasUntilTheWriterIsDone) {
  const fs::path target = folder_ / "result";
  write_text(target, "old");
  write_atomically(target, [&](const fs::path& temporary) {
    EXPECT_EQ(temporary.parent_path(), folder_);
    std::ofstream(temporary) << "new";
    EXPECT_EQ(read_bytes(target), "old");
  });
  EXPECT_EQ(read_bytes(target), "new");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Files, AWriterThatThrowsLeavesTheOldTargetAndNoTemporaryFile) {
  const fs::path target = folder_ / "result";
  write_text(target, "old");
  const auto half_done = [](const fs::path& temporary) {
    std::ofstream(temporary) << "half";
    throw InvalidInput("no more data");
  };
  EXPECT_EQ(message_of([&] { write_atomically(target, half_done); }),
            target.string() + ": no more data");
  EXPECT_EQ(read_bytes(target), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Files, AFileThatCannotGrowIsAnErrorAndLeavesTheOldTarget) {
  const fs::path target = folder_ / "result";
  write_text(target, "old");
  std::string message;
  {
    const FileSizeLimit limit(4096);
    message = message_of([&] { write_text(target, std::string(100000, 'x')); });
  }
  EXPECT_NE(message.find("could not be written: File too large"), std::string::npos) << message;
  EXPECT_EQ(read_bytes(target), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Files, AFullDiskIsAnErrorAndLeavesTheOldTarget) {
  if (mount("ptyche-test", folder_.c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "a small file system cannot be mounted here";
  const fs::path target = folder_ / "result";
  write_text(target, "old");
  const std::string message = message_of([&] { write_text(target, std::string(1000000, 'x')); });
  EXPECT_NE(message.find("No space left on device"), std::string::npos) << message;
  EXPECT_EQ(read_bytes(target), "old");
  EXPECT_EQ(entries(), 1);
  EXPECT_EQ(umount(folder_.c_str()), 0);
}

TEST_F(Files, AFolderThatDoesNotExistIsAnError) {
  const fs::path target = folder_ / "missing" / "result";
  const std::string message = message_of([&] { write_text(target, "x"); });
  EXPECT_NE(message.find(target.string()), std::string::npos) << message;
  EXPECT_NE(message.find("No such file or directory"), std::string::npos) << message;
}

TEST_F(Files, ReadingSaysWhichFileIsMissingOrAFolder) {
  EXPECT_EQ(message_of([&] { read_bytes(folder_ / "none"); }),
            (folder_ / "none").string() + ": expected a file, found none");
  EXPECT_EQ(message_of([&] { read_bytes(folder_); }),
            folder_.string() + ": expected a file, found a folder");
}

TEST_F(Files, FilesAndFoldersAreRemovedAndWhatIsNotThereIsPassedOver) {
  write_text(folder_ / "file", "x");
  fs::create_directory(folder_ / "folder");
  write_text(folder_ / "folder" / "inside", "x");
  write_text(folder_ / "other", "x");
  remove_if_possible({folder_ / "none", {}, folder_ / "folder", folder_ / "file"});
  EXPECT_FALSE(fs::exists(folder_ / "file"));
  EXPECT_FALSE(fs::exists(folder_ / "folder"));
  EXPECT_TRUE(fs::exists(folder_ / "other"));
}

TEST_F(Files, AFolderWhoseRemovalIsKilledIsWholeOrGone) {
  constexpr int kFiles = 400;
  int killed = 0;
  for (int round = 0; round < 40; ++round) {
    const fs::path out = folder_ / std::to_string(round), inner = out / "checkpoint";
    fs::create_directories(inner);
    for (int i = 0; i < kFiles; ++i) std::ofstream(inner / std::to_string(i)) << i;
    const pid_t child = fork();
    if (child == 0) {
      remove_if_possible({inner});
      _exit(0);
    }
    usleep(static_cast<useconds_t>(100 * round));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    killed += WIFSIGNALED(status) ? 1 : 0;
    if (fs::exists(inner)) {
      EXPECT_EQ(std::distance(fs::directory_iterator(inner), fs::directory_iterator()), kFiles);
    }
    for (const auto& entry : fs::directory_iterator(out))
      EXPECT_TRUE(entry.path() == inner || is_leftover(entry.path().filename().string()));
  }
  EXPECT_GT(killed, 0);
}

TEST_F(Files, ATargetWithAsLongANameAsThereIsIsWritten) {
  const fs::path target = folder_ / std::string(255, 'n');
  write_text(target, "long");
  EXPECT_EQ(read_bytes(target), "long");
  EXPECT_NE(message_of([&] { write_text(folder_ / std::string(256, 'n'), ""); }).find("too long"),
            std::string::npos);
}

TEST_F(Files, ALinkWhereATemporaryFileWouldLieIsNotFollowed) {
  write_text(folder_ / "victim", "whole");
  write_atomically(folder_ / "result", [&](const fs::path& temporary) {
    EXPECT_TRUE(is_leftover(temporary.filename().string()));
    EXPECT_FALSE(fs::is_symlink(temporary));
    std::ofstream(temporary) << "new";
  });
  // The name of the process is no part of the temporary one: it could be guessed.
  fs::create_symlink(folder_ / "victim",
                     folder_ / (".result." + std::to_string(getpid()) + ".part"));
  write_text(folder_ / "result", "newer");
  EXPECT_EQ(read_bytes(folder_ / "victim"), "whole");
}

TEST_F(Files, ALongerFileThanMayBeReadIsRefused) {
  write_text(folder_ / "long", std::string(1001, 'x'));
  EXPECT_EQ(read_bytes(folder_ / "long", 1001).size(), 1001u);
  EXPECT_NE(message_of([&] {
              read_bytes(folder_ / "long", 1000);
            }).find("expected a file of at most 1000 bytes, found 1001"),
            std::string::npos);
}

TEST(Shallow, CountsBracketsOutsideOfQuotesAndComments) {
  const auto refused = [](const std::string& text, char comment = 0) {
    return !message_of([&] { require_shallow(text, "f", 3, comment); }).empty();
  };
  EXPECT_FALSE(refused("[[[1], [2]], {\"a\": \"[[[[[\"}]"));
  EXPECT_TRUE(refused("[[[[1]]]]"));
  EXPECT_TRUE(refused("{\"a\": \"\\\"\", \"b\": [[[1]]]}"));
  EXPECT_FALSE(refused("a = 1 # [[[[\nb = '[[[['\n", '#'));
  EXPECT_TRUE(refused("a.b.c.d.e = 1\n", '#'));
  EXPECT_FALSE(refused("a = [1.5, 2.5, 3.5, 4.5, 5.5]\nb = 1.0\n", '#'));
}

TEST_F(Files, AnOutputFolderIsMadeWithItsParentsAndLeftEmpty) {
  require_writable_folder(folder_ / "a" / "b");
  EXPECT_TRUE(fs::is_empty(folder_ / "a" / "b"));
}

TEST_F(Files, AnOutputFolderThatIsAFileIsRefused) {
  write_text(folder_ / "file", "x");
  const std::string message = message_of([&] { require_writable_folder(folder_ / "file"); });
  EXPECT_NE(message.find((folder_ / "file").string()), std::string::npos) << message;
}

TEST_F(Files, AnOutputFolderThatTakesNoFilesIsRefused) {
  // /proc takes no files from anybody, root included.
  EXPECT_THROW(require_writable_folder("/proc"), InvalidInput);
  EXPECT_THROW(require_writable_folder("/proc/ptyche-out"), InvalidInput);
}

// FIPS 180-4's examples: the empty message and "abc".
TEST_F(Files, Sha256GivesThePublishedDigests) {
  write_text(folder_ / "empty", "");
  EXPECT_EQ(sha256_of_file(folder_ / "empty"),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  write_text(folder_ / "abc", "abc");
  EXPECT_EQ(sha256_of_file(folder_ / "abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace ptyche
