#include "ptyche/commands/memory_plan.h"

#include <gtest/gtest.h>

#include <limits>

#include "ptyche/core/memory.h"
#include "ptyche/simulate/simulate.h"

namespace ptyche {
namespace {

/// 64 000 patterns of 64 x 64 pixels of two bytes.
constexpr ScanExtent kLarge{
    .patterns = 64000, .pattern_px = 4096, .counts_bytes = 524e6, .canvas_px = 1.2e6};

double bytes_of(const std::vector<PlannedArray>& plan, const std::string& name) {
  for (const PlannedArray& array : plan)
    if (array.name == name) return array.bytes;
  ADD_FAILURE() << name;
  return 0;
}

TEST(MemoryPlan, PutsCountsOnDiskThatTakeMoreThanThreeQuartersOfWhatTheProgramLeaves) {
  EXPECT_FALSE(memory_plan(kLarge, PlannedWork::solve, 400e6 + 524e6 / 0.74)[0].on_disk);
  EXPECT_TRUE(memory_plan(kLarge, PlannedWork::solve, 400e6 + 524e6 / 0.76)[0].on_disk);
}

TEST(MemoryPlan, NamesWhatEachArrayTakesAndAddsUpThoseInMemory) {
  const std::vector<PlannedArray> plan{
      {"counts", 5e9, true}, {"canvases", 2e8, false}, {"the program", 4e8, false}};
  EXPECT_EQ(plan_text(plan, 8e8),
            "counts 5.0 GB (on disk), canvases 200 MB, the program 400 MB: 600 MB of 800 MB "
            "(--memory)");
}

TEST(MemoryPlan, OfInferenceGrowsWithTheLengthOfALineAndNotWithAllPatches) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  ScanExtent larger = kLarge;
  larger.patterns *= 100;
  const double few = bytes_of(memory_plan(kLarge, PlannedWork::infer, kInfinite),
                              "patches and image"),
               many = bytes_of(memory_plan(larger, PlannedWork::infer, kInfinite),
                               "patches and image");
  EXPECT_LT(few, 8 * kLarge.patterns * kLarge.pattern_px / 5);
  EXPECT_GT(many, 2 * few);
  EXPECT_LT(many, 10 * few);
}

/// What a test plans does not outlive it.
class MemoryPlanOfAScan : public testing::Test {
 protected:
  void TearDown() override { use_memory({}); }
};

TEST_F(MemoryPlanOfAScan, OfAPolishIsThatOfASolverWhereTheCanvasIsLargeAndTellsWhatIsTooMuch) {
  const Scan wide = simulate({.pattern_size = 16, .frames = 60, .step_px = 200});
  use_memory({.bytes = 3e9});
  EXPECT_EQ(memory_beyond_limit(wide, PlannedWork::polish), 0);
  use_memory({.bytes = 600e6});
  EXPECT_EQ(memory_beyond_limit(wide, PlannedWork::infer), 0);
  EXPECT_GT(memory_beyond_limit(wide, PlannedWork::polish), 600e6);
}

TEST(MemoryPlan, OfASolverGrowsWithTheCanvas) {
  ScanExtent larger = kLarge;
  larger.canvas_px *= 3;
  const auto of = [](const ScanExtent& scan) {
    return bytes_of(memory_plan(scan, PlannedWork::solve, 1e10), "canvases of the solver");
  };
  EXPECT_NEAR(of(larger), 3 * of(kLarge), 1);
}

}  // namespace
}  // namespace ptyche
