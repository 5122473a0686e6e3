#include "ptyche/ptychopinn/probe_shape.h"

#include <gtest/gtest.h>

#include "ptyche/data/probe.h"
#include "tests/support/refusal.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

TEST(ProbeShape, KeepsTheProbesPowerWhateverIsCutOff) {
  const Scan scan = small_scan();
  for (const ProbeShape& shape : {ProbeShape{.smoothing_px = 1.5}, ProbeShape{.mask = true},
                                  ProbeShape{.mask = true, .mask_diameter_px = 6}})
    EXPECT_NEAR(probe_power(with_shaped_probe(scan, shape).probe()) / probe_power(scan.probe()), 1,
                1e-5);
}

TEST(ProbeShape, LeavesNoLightBeyondTheDisc) {
  const at::Tensor probe =
      with_shaped_probe(small_scan(), {.mask = true, .mask_diameter_px = 6}).probe();
  EXPECT_EQ(probe.abs()[0][0][0].item<float>(), 0);
  EXPECT_GT(probe.abs()[0][8][8].item<float>(), 0);
}

TEST(ProbeShape, SmoothsByAMeanThatAFlatProbeDoesNotShow) {
  const Scan scan = small_scan();
  const Scan flat = scan.with_probe(at::full({1, 16, 16}, 3, at::kComplexFloat));
  const at::Tensor probe = with_shaped_probe(flat, {.smoothing_px = 2}).probe();
  EXPECT_LT((probe - flat.probe()).abs().max().item<float>(), 1e-4);
}

TEST(ProbeShape, RefusesADiscThatIsNotAskedFor) {
  EXPECT_NE(message_of([] {
              with_shaped_probe(small_scan(), {.mask_diameter_px = 6});
            }).find("--probe-mask-diameter: it goes with --probe-mask"),
            std::string::npos);
}

}  // namespace
}  // namespace ptyche
