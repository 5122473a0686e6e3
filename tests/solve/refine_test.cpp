#include "ptyche/solve/refine.h"

#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "ptyche/evaluate/data_fit.h"
#include "ptyche/stitch/stitch.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

double r_factor(const Reconstruction& image, const Scan& scan) {
  return data_fit(image, scan, scan.frames_with(FrameUse::used), true).r_factor;
}

TEST(Refine, BySomePassesImprovesTheFitAndByNoneChangesNothing) {
  const Scan scan = small_scan();
  const Reconstruction flat = empty_reconstruction(scan, Interpolation::probe_fourier);
  EXPECT_TRUE(at::equal(refine(scan, flat, {.passes = 0}).object, flat.object));
  EXPECT_LT(r_factor(refine(scan, flat, {.passes = 10}), scan), 0.5 * r_factor(flat, scan));
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
