// What tells an image of the sample from one that is of something else.
#include "ptyche/evaluate/description.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/evaluate/expected_patterns.h"
#include "ptyche/simulate/simulate.h"
#include "ptyche/stitch/stitch.h"

namespace ptyche {
namespace {

Scan noisy_scan() {
  SimulateOptions options;
  options.pattern_size = 32;
  options.frames = 64;
  options.probe_diameter_px = 12;
  options.photons = 1e4;
  return simulate(options);
}

/// The scan's truth as a result.
Reconstruction truth_of(const Scan& scan) {
  Reconstruction image = empty_reconstruction(scan, Interpolation::probe_fourier);
  image.object = scan.truth().unsqueeze(0);
  image.origin_row = image.origin_col = 0;
  image.coverage = at::ones(scan.truth().sizes(), at::kFloat);
  return image;
}

at::Tensor all_of(const Scan& scan) { return at::arange(scan.frames(), at::kLong); }

TEST(Description, TheTruthLeavesNothingAboveNoiseAndForetellsThePatterns) {
  const Scan scan = noisy_scan();
  const Reconstruction truth = truth_of(scan);
  EXPECT_NEAR(misfit(truth, scan, all_of(scan), all_of(scan)), 0, 0.01);
  EXPECT_GT(told(truth, scan, all_of(scan)), 0.8);
}

TEST(Description, AFlatObjectForetellsNothingAndLeavesAsMuchAsTheMeanPattern) {
  const Scan scan = noisy_scan();
  const Reconstruction flat = empty_reconstruction(scan, Interpolation::probe_fourier);
  EXPECT_GT(misfit(flat, scan, all_of(scan), all_of(scan)), 0.8);
  EXPECT_LT(std::abs(told(flat, scan, all_of(scan))), 0.3);
}

TEST(Description, OfEachPatternWhatIsLeftTellsTheOnesThatBelongElsewhere) {
  const Scan scan = noisy_scan();
  ScanFields fields = scan.fields();
  fields.counts = scan.counts().clone();
  fields.counts[10].copy_(scan.counts()[50]);
  const at::Tensor left = left_of_each(truth_of(scan), Scan(fields), all_of(scan));
  ASSERT_EQ(left.sizes(), at::IntArrayRef({64, 2}));
  EXPECT_EQ(left.select(1, 0).argmax().item<std::int64_t>(), 10);
  EXPECT_GT(left[10][0].item<double>(), 10 * left.select(1, 0).median().item<double>());
  EXPECT_GT(left.select(1, 1).median().item<double>(),
            3 * left.select(1, 0).median().item<double>());
}

TEST(Description, ABeamThatChangesIsNobodysFault) {
  const Scan scan = noisy_scan();
  ScanFields fields = scan.fields();
  const at::Tensor beam = at::linspace(0.5, 1, scan.frames()).view({-1, 1, 1});
  fields.counts = (scan.counts() * beam).round().to(at::kInt);
  const Scan dimmed(fields);
  EXPECT_LT(misfit(truth_of(scan), dimmed, all_of(scan), all_of(scan)), 0.01);
}

}  // namespace
}  // namespace ptyche
