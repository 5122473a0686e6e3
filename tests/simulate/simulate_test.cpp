#include "ptyche/simulate/simulate.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ptyche/core/error.h"
#include "tests/support/refusal.h"

namespace ptyche {
namespace {

at::Tensor positions_of(const std::string& kind, std::int64_t frames, double jitter = 0.3) {
  return scan_positions({kind, frames, /*step_px=*/5, jitter, /*seed=*/1});
}

/// Distance to the nearest other position, (n).
at::Tensor nearest(const at::Tensor& positions) {
  at::Tensor distance = at::cdist(positions, positions);
  distance.fill_diagonal_(INFINITY);
  return std::get<0>(distance.min(1));
}

TEST(ScanPositions, GivesTheFramesAskedForFromZeroOn) {
  for (const std::string kind : {"jittered", "fermat", "raster"})
    for (const std::int64_t frames : {1, 2, 7, 100}) {
      const at::Tensor positions = positions_of(kind, frames);
      EXPECT_EQ(positions.sizes(), (at::IntArrayRef{frames, 2})) << kind;
      EXPECT_EQ(positions.scalar_type(), at::kDouble) << kind;
      EXPECT_TRUE(at::equal(std::get<0>(positions.min(0)), at::zeros({2}, at::kDouble))) << kind;
    }
}

TEST(RasterPositions, RunRowByRowWithTheStepBetweenThem) {
  const at::Tensor expected =
      at::tensor({0, 0, 0, 5, 0, 10, 5, 0, 5, 5, 5, 10, 10, 0}, at::kDouble).view({7, 2});
  EXPECT_TRUE(at::equal(positions_of("raster", 7), expected));
}

TEST(JitteredPositions, LeaveTheRasterByTheirShareOfTheStepAndNoMore) {
  const at::Tensor moved = positions_of("jittered", 400) - positions_of("raster", 400);
  // The smallest position is moved to zero, so only differences of the moves are known.
  const at::Tensor spread = std::get<0>(moved.max(0)) - std::get<0>(moved.min(0));
  EXPECT_LE(spread.max().item<double>(), 2 * 0.3 * 5);
  EXPECT_GE(spread.min().item<double>(), 0.95 * 2 * 0.3 * 5);
  EXPECT_TRUE(at::equal(positions_of("jittered", 400, 0), positions_of("raster", 400)));
}

TEST(FermatPositions, HaveOnePositionPerStepSquaredEverywhere) {
  const at::Tensor positions = positions_of("fermat", 900);
  const at::Tensor radius = (positions - positions[0]).square().sum(1).sqrt();
  for (const double inside : {30.0, 50.0, 80.0}) {
    const double count = (radius < inside).sum().item<double>();
    const double expected = std::numbers::pi * inside * inside / 25;
    EXPECT_NEAR(count, expected, 2 * std::sqrt(expected) / 5) << inside;
  }
  EXPECT_GT(nearest(positions).min().item<double>(), 0.85 * 5);
}

TEST(ScanPositions, RefusesOptionsOutOfRange) {
  EXPECT_THROW(scan_positions({.kind = "lissajous"}), InvalidInput);
  EXPECT_THROW(scan_positions({.frames = 0}), InvalidInput);
  EXPECT_THROW(scan_positions({.step_px = 0}), InvalidInput);
  EXPECT_THROW(scan_positions({.step_px = NAN}), InvalidInput);
  EXPECT_THROW(scan_positions({.jitter = 0.6}), InvalidInput);
}

SimulateOptions small_scan() {
  SimulateOptions options;
  options.frames = 49;
  return options;
}

at::Tensor counts_of(const SimulateOptions& options) {
  return simulate(options).counts().to(at::kDouble);
}

at::Tensor expected_counts(SimulateOptions options) {
  options.noise = false;
  return counts_of(options);
}

TEST(Simulate, GivesAScanWithTheTruthInTheFrameOfItsPositions) {
  for (const std::string kind : {"jittered", "fermat", "raster"}) {
    SimulateOptions options = small_scan();
    options.scan = kind;
    const Scan scan = simulate(options);
    EXPECT_EQ(scan.source(), "simulated");
    EXPECT_FALSE(scan.geometry().has_object_pixel());
    EXPECT_EQ(scan.frames(), 49);
    EXPECT_EQ(scan.pattern_size(), 64);
    ASSERT_TRUE(scan.truth().defined());
    EXPECT_GE(scan.positions().min().item<double>(), 32);
    for (int axis = 0; axis < 2; ++axis)
      EXPECT_LE(scan.positions().select(1, axis).max().item<double>() + 32,
                static_cast<double>(scan.truth().size(axis)));
  }
}

// Parseval: the counts of a pattern are the power of its exit wave; at whole pixels that is a sum
// over the patch as it stands.
TEST(Simulate, KeepsThePowerOfEveryExitWave) {
  SimulateOptions options = small_scan();
  options.scan = "raster";
  options.noise = false;
  const Scan scan = simulate(options);
  const at::Tensor probe_power = scan.probe()[0].to(at::kComplexDouble).abs().square();
  const at::Tensor object_power = scan.truth().to(at::kComplexDouble).abs().square();
  for (std::int64_t frame = 0; frame < scan.frames(); ++frame) {
    const auto row = static_cast<std::int64_t>(scan.positions()[frame][0].item<double>()) - 32;
    const auto col = static_cast<std::int64_t>(scan.positions()[frame][1].item<double>()) - 32;
    const at::Tensor lit = object_power.slice(0, row, row + 64).slice(1, col, col + 64);
    const double expected = (probe_power * lit).sum().item<double>();
    EXPECT_NEAR(scan.counts()[frame].to(at::kDouble).sum().item<double>(), expected,
                1e-5 * expected);
  }
}

TEST(Simulate, MeansThePhotonsTimesTheObjectsTransmission) {
  SimulateOptions options = small_scan();
  options.frames = 225;
  const Scan scan = simulate(options);
  const at::Tensor lit = scan.truth().slice(0, 36, -36).slice(1, 36, -36);
  const double expected = options.photons * lit.abs().square().mean().item<double>();
  const double found = scan.counts().to(at::kDouble).sum({1, 2}).mean().item<double>();
  EXPECT_NEAR(found, expected, 0.03 * expected);
}

TEST(Simulate, AnEmptySampleShowsTheFarFieldOfTheProbeAtEveryPosition) {
  SimulateOptions options = small_scan();
  options.amplitude_min = options.amplitude_max = 1;
  options.phase_range_rad = 0;
  options.noise = false;
  const Scan scan = simulate(options);
  const at::Tensor wave =
      at::fft_fftshift(at::fft_fft2(scan.probe()[0].to(at::kComplexDouble))) / 64;
  const at::Tensor expected = wave.abs().square().unsqueeze(0).expand({49, 64, 64});
  EXPECT_TRUE(at::allclose(scan.counts().to(at::kDouble), expected, 1e-4, 1e-3));
}

TEST(Simulate, HasNoiseWhoseVarianceIsItsMean) {
  SimulateOptions options = small_scan();
  const at::Tensor mean = expected_counts(options), counts = counts_of(options);
  const auto check = [&](double low, double high) {
    const at::Tensor inside = at::logical_and(mean >= low, mean < high);
    const at::Tensor excess = ((counts - mean) / mean.clamp_min(1e-9).sqrt()).masked_select(inside);
    const auto count = static_cast<double>(excess.numel());
    ASSERT_GT(count, 1000);
    EXPECT_NEAR(excess.mean().item<double>(), 0, 4 / std::sqrt(count));
    // Var of (n - m)^2 / m is 2 + 1 / m.
    EXPECT_NEAR(excess.square().mean().item<double>(), 1, 4 * std::sqrt((2 + 1 / low) / count));
  };
  check(0.1, 1);
  check(1, 10);
  check(10, 100);
  check(100, 1e6);
}

TEST(Simulate, TheSameSeedGivesTheSameBitsForAnyThreadCount) {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const Scan one = simulate(small_scan());
  at::set_num_threads(3);
  const Scan three = simulate(small_scan());
  at::set_num_threads(threads);
  EXPECT_TRUE(at::equal(one.counts(), three.counts()));
  EXPECT_TRUE(at::equal(one.positions(), three.positions()));
  EXPECT_TRUE(at::equal(one.probe(), three.probe()));
  EXPECT_TRUE(at::equal(one.truth(), three.truth()));
}

TEST(Simulate, AnotherSeedGivesAnotherObjectOtherPositionsAndOtherNoise) {
  SimulateOptions options = small_scan();
  options.scan = "raster";
  options.object = "siemens-star";
  const Scan first = simulate(options);
  options.seed = 2;
  const Scan second = simulate(options);
  EXPECT_TRUE(at::equal(first.truth(), second.truth()));
  EXPECT_FALSE(at::equal(first.counts(), second.counts()));
  EXPECT_GT((first.counts()[0] != first.counts()[48]).sum().item<std::int64_t>(), 100);
  SimulateOptions jittered = small_scan();
  const at::Tensor positions = simulate(jittered).positions();
  jittered.seed = 2;
  EXPECT_FALSE(at::equal(simulate(jittered).positions(), positions));
}

// The correlation of the noise of two frames, over p pixels, has variance 1 / p if they are
// independent.
TEST(Simulate, EveryFrameHasNoiseOfItsOwn) {
  SimulateOptions options = small_scan();
  options.amplitude_min = options.amplitude_max = 1;
  options.phase_range_rad = 0;
  const at::Tensor mean = expected_counts(options).flatten(1);
  const at::Tensor lit = (mean[0] > 1).nonzero().squeeze(1);
  const at::Tensor excess = (counts_of(options).flatten(1) - mean) / mean.sqrt();
  const at::Tensor correlation = at::corrcoef(excess.index_select(1, lit));
  const at::Tensor pairs = correlation.triu(1).square().sum() / (49 * 48 / 2);
  EXPECT_NEAR(pairs.item<double>() * static_cast<double>(lit.numel()), 1, 0.15);
}

// Linear overlap 1 - step / diameter, with the diameter of the disc that holds 90 % of the power.
TEST(Simulate, DefaultsOverlapBySeventyFiveToEightyFivePerCent) {
  const SimulateOptions options;
  const at::Tensor power = simulate(small_scan()).probe()[0].abs().square();
  const at::Tensor axis = at::arange(64, at::kDouble) - 32.0;
  const at::Tensor radius = at::hypot(axis.unsqueeze(1), axis.unsqueeze(0));
  double diameter = 0, held = 0;
  while (held < 0.9) {
    diameter += 0.1;
    held = (power * (radius <= 0.5 * diameter)).sum().item<double>() / options.photons;
  }
  const double overlap = 1 - options.step_px / diameter;
  EXPECT_GE(overlap, 0.75);
  EXPECT_LE(overlap, 0.85);
}

TEST(Simulate, AWrongDefocusChangesTheProbeThatIsGivenButNotThePatterns) {
  SimulateOptions options = small_scan();
  const Scan right = simulate(options);
  options.probe_defocus_error = 0.2;
  const Scan wrong = simulate(options);
  EXPECT_TRUE(at::equal(right.counts(), wrong.counts()));
  options.probe_defocus_error = 0;
  options.defocus = 1.2;
  EXPECT_TRUE(at::allclose(wrong.probe(), simulate(options).probe()));
  EXPECT_FALSE(at::allclose(wrong.probe(), right.probe(), 1e-2, 1e-2));
}

TEST(Simulate, WrongPositionsAreGivenBesideTheTrueOnesAndChangeNoPattern) {
  SimulateOptions options = small_scan();
  const Scan right = simulate(options);
  options.position_error_px = 0.5;
  options.position_scale_error = 0.01;
  options.position_rotation_deg = 1;
  const Scan wrong = simulate(options);
  EXPECT_TRUE(at::equal(wrong.counts(), right.counts()));
  EXPECT_TRUE(at::equal(wrong.true_positions(), right.positions()));
  const at::Tensor middle = right.positions().mean(0), from = right.positions() - middle;
  const at::Tensor fit = at::linalg_pinv(from).matmul(wrong.positions() - middle);
  EXPECT_NEAR(fit[0][0].item<double>(), 1.01, 0.02);  // 49 errors of 0.5 px on 7 x 7 positions
  EXPECT_NEAR(fit[0][1].item<double>(), 1.01 * std::sin(M_PI / 180), 0.02);
  EXPECT_NEAR(fit[1][0].item<double>(), -1.01 * std::sin(M_PI / 180), 0.02);
  const at::Tensor rest = wrong.positions() - middle - from.matmul(fit);
  EXPECT_NEAR(rest.square().mean().sqrt().item<double>(), 0.5, 0.15);
}

TEST(Simulate, TheNearFieldOfAnEmptySampleIsTheProbeWhereTheDistanceIsShort) {
  SimulateOptions options = small_scan();
  options.amplitude_min = options.amplitude_max = 1;
  options.phase_range_rad = 0;
  options.noise = false;
  options.scan = "raster";
  options.geometry = {.energy_ev = 17000,
                      .distance_m = 1e-9,
                      .detector_pixel_m = 1e-6,
                      .near_field = true,
                      .source_distance_m = 1e-9};
  const Scan scan = simulate(options);
  EXPECT_DOUBLE_EQ(scan.geometry().object_pixel_m, 0.5e-6);  // magnified twice
  const at::Tensor power = scan.probe()[0].abs().square();
  EXPECT_LT((scan.counts()[0] - power).abs().max().item<float>(), 1e-3 * power.max().item<float>());
}

TEST(Simulate, StoresCountsInTheSmallestTypeThatHoldsThem) {
  SimulateOptions options = small_scan();
  options.photons = 1e4;
  EXPECT_EQ(simulate(options).counts().scalar_type(), at::kByte);
  options.photons = 1e6;
  EXPECT_EQ(simulate(options).counts().scalar_type(), at::kShort);
  options.photons = 1e8;
  EXPECT_EQ(simulate(options).counts().scalar_type(), at::kInt);
  options.noise = false;
  EXPECT_EQ(simulate(options).counts().scalar_type(), at::kFloat);
}

TEST(Simulate, TakesOtherPatternSizesAndASingleFrame) {
  SimulateOptions options = small_scan();
  options.frames = 1;
  options.pattern_size = 128;
  EXPECT_EQ(simulate(options).counts().sizes(), (at::IntArrayRef{1, 128, 128}));
}

TEST(Simulate, RefusesOptionsOutOfRange) {
  const auto refuses = [](auto change) {
    SimulateOptions options = small_scan();
    change(options);
    EXPECT_THROW(simulate(options), InvalidInput);
  };
  refuses([](SimulateOptions& options) { options.pattern_size = 65; });
  refuses([](SimulateOptions& options) { options.frames = 0; });
  refuses([](SimulateOptions& options) { options.photons = 0; });
  refuses([](SimulateOptions& options) { options.photons = 1e11; });
  refuses([](SimulateOptions& options) { options.amplitude_max = 1e6; });
  refuses([](SimulateOptions& options) { options.object = "cat"; });
  refuses([](SimulateOptions& options) {
    options.probe = "disk";
    options.probe_defocus_error = 0.2;
  });
}

TEST(SimulateLike, ScansTheOtherScansObjectWithItsProbeAtItsPositions) {
  const Scan given = simulate({.pattern_size = 32, .frames = 16, .probe_diameter_px = 12});
  const Scan again = simulate_like(given, {.photons = 1e7, .seed = 3});
  EXPECT_TRUE(at::equal(again.positions(), given.positions()));
  EXPECT_TRUE(at::equal(again.truth(), given.truth()));
  const double brighter = again.counts().to(at::kDouble).sum().item<double>() /
                          given.counts().to(at::kDouble).sum().item<double>();
  EXPECT_NEAR(brighter, 100, 0.5);
}

TEST(SimulateLike, RefusesAScanWithoutATruthAndATruthThatIsTooSmall) {
  const Scan given = simulate({.pattern_size = 32, .frames = 16, .probe_diameter_px = 12});
  ScanFields none = given.fields();
  none.source = "a.npz";
  none.truth = at::Tensor();
  EXPECT_EQ(message_of([&] { simulate_like(Scan(std::move(none)), {}); }),
            "a.npz: expected a true object to simulate, found none");
  const Scan moved = given.with_positions(given.positions() - 8);
  EXPECT_NE(message_of([&] { simulate_like(moved, {}); }).find("found pattern 0 beyond it"),
            std::string::npos);
}

TEST(Simulate, PatternsOfAnySizeHaveAProbeThatFits) {
  for (const std::int64_t size : {16, 30, 32, 1024})
    EXPECT_NO_THROW(simulate({.pattern_size = size, .frames = 4})) << size;
}

}  // namespace
}  // namespace ptyche
