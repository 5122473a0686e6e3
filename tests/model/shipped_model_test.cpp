#include "ptyche/model/shipped_model.h"

#include <gtest/gtest.h>

#include "ptyche/nn/patch_network.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

TEST(ShippedModel, IsANetworkForAnyScanOfAtMostFourMegabytes) {
  const Model model = shipped_model();
  EXPECT_TRUE(model.any_scan);
  EXPECT_TRUE(model.stem_options.optics);
  std::int64_t weights = 0;
  for (const at::Tensor& weight : model.network->parameters()) weights += weight.numel();
  EXPECT_LE(2 * weights, 4 << 20);
}

TEST(ShippedModel, TakesTheProbeOfTheScan) {
  const Scan scan = small_scan();
  const Model model = model_for(scan, shipped_model());
  EXPECT_TRUE(at::equal(model.probe, scan.probe()));
}

}  // namespace
}  // namespace ptyche
