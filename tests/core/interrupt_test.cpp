#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "ptyche/core/progress.h"

namespace ptyche {
namespace {

// Each in a process of its own: a remembered signal stays remembered.

TEST(InterruptDeathTest, EndsTheProgramWhereNobodyAsks) {
  EXPECT_EXIT(std::raise(SIGINT), testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(
      {
        { const CatchInterrupts catching; }
        std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(InterruptDeathTest, IsRememberedWhereALoopAsksAndTheSecondEndsTheProgram) {
  EXPECT_EXIT(
      {
        const CatchInterrupts catching;
        std::raise(SIGINT);
        std::exit(interrupted() ? 7 : 0);
      },
      testing::ExitedWithCode(7), "");
  EXPECT_EXIT(
      {
        const CatchInterrupts catching;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(InterruptDeathTest, AHangUpIsRememberedAsOftenAsItComes) {
  EXPECT_EXIT(
      {
        const CatchInterrupts catching;
        std::raise(SIGHUP);
        std::raise(SIGHUP);
        std::exit(interrupted() ? 7 : 0);
      },
      testing::ExitedWithCode(7), "");
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);  // nohup
        const CatchInterrupts catching;
        std::raise(SIGHUP);
        std::exit(interrupted() ? 7 : 0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(InterruptDeathTest, AnInnerScopeLeavesTheOuterOneInForce) {
  EXPECT_EXIT(
      {
        const CatchInterrupts outer;
        { const CatchInterrupts inner; }
        std::raise(SIGINT);
        std::exit(interrupted() ? 7 : 0);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace ptyche
