#include <gtest/gtest.h>

#include "ptyche/data/probe.h"
#include "ptyche/prepare/first_probe.h"
#include "ptyche/simulate/simulate.h"

namespace ptyche {
namespace {

Scan coherent_scan() { return simulate({.frames = 120, .photons = 1e5, .seed = 3}); }

/// Four parts of the light come from the scan's probe, one from the same one moved by 3 pixels.
Scan incoherent_scan() {
  const Scan first = coherent_scan();
  const Scan second =
      simulate_like(first.with_probe(first.probe().roll(3, -1)), {.photons = 2.5e4, .seed = 4});
  ScanFields fields = first.fields();
  fields.counts = fields.counts + second.counts();
  fields.shared.reset();
  return Scan(std::move(fields));
}

TEST(RefinedProbe, OfIncoherentLightHasSeveralModesWithThePowerOfTheCounts) {
  const Scan scan = incoherent_scan();
  const Scan refined = with_refined_probe(scan).scan;
  EXPECT_EQ(refined.probe().size(0), 3);
  const double counts = scan.counts().sum(at::kDouble).item<double>() / 120;
  EXPECT_NEAR(probe_power(refined.probe()) / counts, 1, 0.1);
}

TEST(RefinedProbe, OfCoherentLightHasOneMode) {
  const RefinedProbe refined = with_refined_probe(coherent_scan());
  EXPECT_EQ(refined.scan.probe().size(0), 1);
  EXPECT_FALSE(refined.background.defined());
}

TEST(RefinedProbe, FindsABackgroundWhereItIsAskedFor) {
  ScanFields fields = coherent_scan().fields();
  fields.counts = fields.counts + 3;
  fields.shared.reset();
  const RefinedProbe refined = with_refined_probe(Scan(std::move(fields)), true);
  EXPECT_NEAR(refined.background.mean().item<double>(), 3, 0.5);
}

}  // namespace
}  // namespace ptyche
