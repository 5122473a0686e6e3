#include "ptyche/core/messages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

class LogFile : public testing::Test {
 protected:
  void TearDown() override { begin_messages({}); }
  std::string said(const std::function<void()>& work) const {
    testing::internal::CaptureStderr();
    work();
    return testing::internal::GetCapturedStderr();
  }
  const TestFolder folder_;
};

TEST_F(LogFile, HoldsWhatTheTerminalDoesNotShowWithTimesAndTheCommandLine) {
  begin_messages({.quiet = true, .log = folder_ / "a log"});
  EXPECT_EQ(said([] {
              note("a note");
              detail("a detail");
            }),
            "");
  const std::string text = read_bytes(folder_ / "a log");
  EXPECT_NE(text.find(" info    ptyche " + version()), std::string::npos) << text;
  EXPECT_NE(text.find(" info    a note\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" debug   a detail\n"), std::string::npos) << text;
}

TEST_F(LogFile, IsAddedToAndHoldsTheCommandLineAndWhatItsLevelLetsThrough) {
  write_text(folder_ / "log", "earlier\n");
  begin_messages({.log = folder_ / "log", .log_level = MessageLevel::warning});
  EXPECT_EQ(said([] {
              note("a note");
              warn("a warning");
            }),
            "a note\nwarning: a warning\n");
  const std::string text = read_bytes(folder_ / "log");
  EXPECT_EQ(text.rfind("earlier\n", 0), 0U);
  EXPECT_NE(text.find(" info    ptyche " + version()), std::string::npos) << text;
  EXPECT_EQ(text.find("a note"), std::string::npos);
  EXPECT_NE(text.find(" warning a warning\n"), std::string::npos) << text;
}

/// Both streams into one file for as long as this lives, as `2>&1` does.
class OneStream {
 public:
  explicit OneStream(const std::filesystem::path& file) : out_(dup(1)), err_(dup(2)) {
    const int both = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    std::fflush(stdout);
    dup2(both, 1);
    dup2(both, 2);
    close(both);
  }
  ~OneStream() {
    std::fflush(stdout);
    dup2(out_, 1);
    dup2(err_, 2);
    close(out_);
    close(err_);
  }

 private:
  int out_, err_;
};

TEST_F(LogFile, MessagesStandBehindWhatWasPrintedBeforeThemAndBreakNoLine) {
  const std::string long_text = std::string(3000, 'x') + "\n" + std::string(3000, 'y') + "\n";
  {
    const OneStream one(folder_ / "both");
    print_result(long_text);
    warn("a warning");
    print_result("the end\n");
  }
  EXPECT_EQ(read_bytes(folder_ / "both"), long_text + "warning: a warning\nthe end\n");
}

TEST_F(LogFile, ThatCannotBeWrittenIsRefusedByName) {
  EXPECT_THROW(begin_messages({.log = folder_ / "no" / "log"}), InvalidInput);
  mkfifo((folder_ / "pipe").c_str(), 0600);
  EXPECT_THROW(begin_messages({.log = folder_ / "pipe"}), InvalidInput);
  EXPECT_THROW(begin_messages({.quiet = true, .verbose = true}), InvalidInput);
}

TEST_F(LogFile, ThatTakesNoMoreEndsWithAWarningAndNotTheWork) {
  const std::string text = said([] {
    begin_messages({.log = "/dev/full", .log_level = MessageLevel::warning});
    warn("a warning");
  });
  EXPECT_NE(text.find("warning: a warning\n"), std::string::npos) << text;
  EXPECT_NE(text.find("--log: "), std::string::npos) << text;
}

TEST(HeardRemarks, AreThoseWhileItLives) {
  testing::internal::CaptureStderr();
  warn("before");
  const HeardRemarks heard;
  warn("within");
  note("decided");
  say({.kind = Remark::Kind::correction, .text = "by 1e6", .cause = "positions: unit"});
  {
    const Silence silence;
    warn("unheard");
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("corrected: positions: unit: by 1e6\n"), std::string::npos) << said;
  const std::vector<Remark> list = heard.list();
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0], (Remark{.kind = Remark::Kind::warning, .text = "within"}));
  EXPECT_EQ(list[1], (Remark{.kind = Remark::Kind::note, .text = "decided"}));
  EXPECT_EQ(list[2].cause, "positions: unit");
}

TEST(HeardRemarks, ComeBackFromTheirTextAsTheyWere) {
  const std::vector<Remark> remarks{{.kind = Remark::Kind::correction,
                                     .text = "\"\xc3\xa9\"",
                                     .cause = "positions: unit",
                                     .before = "a",
                                     .after = "b"},
                                    {.text = "only a note"}};
  EXPECT_EQ(remarks_from(to_text(remarks), "x"), remarks);
  EXPECT_THROW(remarks_from("{", "x"), InvalidInput);
  EXPECT_THROW(remarks_from("[1]", "x"), InvalidInput);
}

TEST(CommandLine, IsWhatAShellTakes) { EXPECT_EQ(command_line().rfind("ptyche", 0), 0U); }

}  // namespace
}  // namespace ptyche
