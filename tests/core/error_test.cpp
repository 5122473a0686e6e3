#include "ptyche/core/error.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/refusal.h"

namespace ptyche {
namespace {

TEST(Require, ThrowsTheFormattedMessageOnlyWhenTheConditionFails) {
  EXPECT_NO_THROW(require(true, "expected {}, found {}", 1, 2));
  EXPECT_EQ(message_of([] { require(false, "expected {}, found {}", 64, 63); }),
            "expected 64, found 63");
}

TEST(WithContext, PutsOuterLayersInFront) {
  const auto work = [] {
    with_context("scan.h5", [] {
      return with_context("/data", [] { require(false, "expected 3 dimensions, found 2"); });
    });
  };
  EXPECT_EQ(message_of(work), "scan.h5: /data: expected 3 dimensions, found 2");
}

TEST(WithContext, HandsBackTheResultOfTheWork) {
  EXPECT_EQ(with_context("unused", [] { return 42; }), 42);
}

TEST(WithContext, LeavesMistakesOfTheProgramAlone) {
  const auto work = [] { throw std::logic_error("ours"); };
  EXPECT_THROW(with_context("scan.h5", work), std::logic_error);
}

}  // namespace
}  // namespace ptyche
