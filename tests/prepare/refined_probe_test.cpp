#include <gtest/gtest.h>

#include "ptyche/data/probe.h"
#include "ptyche/prepare/first_probe.h"
#include "ptyche/simulate/simulate.h"
#include "tests/support/incoherent_scan.h"

namespace ptyche {
namespace {

Scan coherent_scan() { return simulate({.frames = 120, .photons = 1e5, .seed = 3}); }

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
