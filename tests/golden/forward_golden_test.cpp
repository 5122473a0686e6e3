// Family d: exit wave and far field.
#include <gtest/gtest.h>

#include "ptyche/physics/forward_model.h"
#include "ptyche/ptychopinn/operators.h"
#include "tests/support/golden.h"

namespace ptyche {
namespace {

at::Tensor probe_of(const GoldenFile& golden) {
  const at::Tensor raw = golden.array("probe_raw");
  return calibrate_probe_to_mean(raw, hard_probe_mask(raw.size(0)), golden.number("probe_scale"));
}

/// (B, 1, N, N)
at::Tensor exit_waves_of(const GoldenFile& golden) {
  const at::Tensor waves = smooth(exit_wave(probe_of(golden).unsqueeze(0), golden.array("obj")),
                                  golden.number("gaussian_smoothing_sigma"));
  const bool masked = golden.number("probe_mask") != 0;
  return masked ? waves * hard_probe_mask(waves.size(-1)) : waves;
}

TEST(GoldenForward, CalibratesTheProbeAsPtychoPinnDoes) {
  for_each_golden("d_forward", [](const GoldenFile& golden) {
    EXPECT_TRUE(agrees(probe_of(golden), golden.array("probe_normalised")));
  });
}

TEST(GoldenForward, HasPtychoPinnsExitWaves) {
  for_each_golden("d_forward", [](const GoldenFile& golden) {
    EXPECT_TRUE(agrees(exit_waves_of(golden).squeeze(1), golden.array("exit_wave")));
  });
}

TEST(GoldenForward, HasPtychoPinnsAmplitudes) {
  for_each_golden("d_forward", [](const GoldenFile& golden) {
    const at::Tensor intensity = expected_counts(propagate_far_field(exit_waves_of(golden)));
    EXPECT_TRUE(agrees(to_centred(intensity).sqrt(), golden.array("amplitude")));
  });
}

}  // namespace
}  // namespace ptyche
