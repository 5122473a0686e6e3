#include "ptyche/core/processor.h"

#include <gtest/gtest.h>

namespace ptyche {
namespace {

TEST(ProcessorHasAny, OfWhatAllOfOurKindHave) {
  EXPECT_TRUE(processor_has_any({"there is no such thing", "fpu"}));
}

TEST(ProcessorHasAny, NotOfWhatNoneHas) {
  EXPECT_FALSE(processor_has_any({"fp", "there is no such thing"}));
  EXPECT_FALSE(processor_has_any({}));
}

}  // namespace
}  // namespace ptyche
