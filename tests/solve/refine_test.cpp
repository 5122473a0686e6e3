#include "ptyche/solve/refine.h"

#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "tests/support/plain_solver.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

TEST(Refine, BySomePassesImprovesTheFitAndByNoneChangesNothing) {
  const Scan scan = small_scan();
  const Reconstruction start = flat(scan);
  EXPECT_TRUE(at::equal(refine(scan, start, {.passes = 0}).object, start.object));
  EXPECT_LT(r_factor(refine(scan, start, {.passes = 10}), scan), 0.5 * r_factor(start, scan));
}

TEST(Refine, RefusesWhatIsNeitherNoneNorAutoNorANumber) {
  EXPECT_EQ(refine_passes("none", 100), 0);
  EXPECT_EQ(refine_passes("3", 100), 3);
  for (const char* how : {"", "many", "-1", "0", "3x"})
    EXPECT_THROW(refine_passes(how, 100), InvalidInput) << how;
}

TEST(Refine, MakesMorePassesOverFewPatterns) {
  EXPECT_EQ(refine_passes("auto", 1'000'000), kFewestPasses);
  EXPECT_EQ(refine_passes("auto", 160), 60);
  EXPECT_EQ(refine_passes("auto", 1), kMostPasses);
}

}  // namespace
}  // namespace ptyche
