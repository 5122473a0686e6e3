// A first probe from patterns and positions alone.
#include "ptyche/prepare/probe_search.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "ptyche/core/files.h"
#include "ptyche/data/probe.h"
#include "ptyche/prepare/first_probe.h"
#include "ptyche/prepare/shadow_defocus.h"
#include "ptyche/prepare/shadow_phase.h"
#include "ptyche/simulate/simulate.h"
#include "ptyche/storage/numpy.h"
#include "tests/prepare/faulty_scans.h"
#include "tests/support/refusal.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

Scan simulated(double defocus, const std::string& probe = "defocused") {
  return simulate({.probe = probe,
                   .pattern_size = 64,
                   .frames = 100,
                   .step_px = 5,
                   .photons = 1e5,
                   .defocus = defocus,
                   .seed = 5});
}

/// |<a, b>| / (|a| |b|), best over shifts by quarters of a pixel: 1 for probes that differ by a
/// factor and a shift.
double likeness(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor product = at::fft_fft2(a[0]) * at::conj(at::fft_fft2(b[0]));
  const std::int64_t border = 3 * a.size(1) / 2;
  const at::Tensor fine =
      at::constant_pad_nd(at::fft_fftshift(product), {border, border, border, border});
  const double best = at::fft_ifft2(at::fft_ifftshift(fine)).abs().max().item<double>() * 16;
  return best / std::sqrt(probe_power(a) * probe_power(b));
}

ShadowPeak first_peak(const Scan& scan) {
  const at::Tensor mean = mean_pattern(scan.counts(), at::arange(scan.frames()));
  const auto peaks = defoci_from_shadows(scan.counts().to(at::kFloat), scan.positions(), mean,
                                         aperture_of(mean, scan.mask()), /*odd=*/false);
  return peaks.empty() ? ShadowPeak{} : peaks[0];
}

TEST(ShadowDefocus, HasTheSignAndTheSizeOfTheLensPhase) {
  // The far field of make_probe has the phase -pi path q^2, path = diameter / (2 * 0.25 c/px).
  const double at_edge = -std::numbers::pi * (0.5 * 22 / 0.25) / 4;
  for (const double sign : {1., -1.}) {
    const ShadowPeak peak = first_peak(simulated(sign));
    EXPECT_GT(peak.strength, 20);
    EXPECT_GT(peak.defocus / (sign * at_edge), 0.8);
    EXPECT_LT(peak.defocus / (sign * at_edge), 1.4);
  }
}

TEST(ShadowDefocus, OfBlankPatternsIsNone) {
  const Scan scan = simulated(1);
  const at::Tensor mean = mean_pattern(scan.counts(), at::arange(scan.frames()));
  const at::Tensor same = mean.to(at::kFloat).expand({scan.frames(), 64, 64}).contiguous();
  EXPECT_TRUE(defoci_from_shadows(same, scan.positions(), mean, aperture_of(mean, scan.mask()),
                                  /*odd=*/false)
                  .empty());
}

TEST(ProbeSearch, FindsTheProbeWhicheverSideOfTheFocusTheSampleIs) {
  for (const double defocus : {1., -1.}) {
    const Scan scan = simulated(defocus);
    const FoundProbe found = find_probe(without_probe(scan), /*own=*/false);
    EXPECT_TRUE(found.sure);
    EXPECT_GT(likeness(found.probe, scan.probe()), 0.97) << found.what;
  }
}

/// Through a lens in focus whose aberrations are `zernike`, Noll 4, 5, ..., rad root mean square.
Scan through_lens(const std::vector<double>& zernike, std::int64_t size = 64) {
  return simulate({.probe = "zernike",
                   .pattern_size = size,
                   .frames = 100,
                   .step_px = 5,
                   .photons = 1e5,
                   .defocus = 0,
                   .zernike_rad = zernike,
                   .seed = 5});
}

struct Phases {
  std::vector<PhasePeak> peaks;
  Aperture aperture;
};

Phases phases_of(const Scan& scan) {
  const at::Tensor mean = mean_pattern(scan.counts(), at::arange(scan.frames()));
  const Aperture aperture = aperture_of(mean, scan.mask());
  return {phases_from_shadows(scan.counts().to(at::kFloat), scan.positions(), mean, aperture),
          aperture};
}

/// Smallest root mean square of the difference from `expected`, (N, N) rad, over the aperture,
/// as a share of that of `expected`.
double nearest(const Phases& phases, const at::Tensor& expected) {
  double least = 1e9;
  for (const PhasePeak& peak : phases.peaks) {
    const at::Tensor apart = phase_image(peak.phase, phases.aperture, expected.size(0)) - expected;
    least = std::min(least, apart.masked_select(phases.aperture.lit).std().item<double>());
  }
  return least / expected.masked_select(phases.aperture.lit).std().item<double>();
}

/// (row, col) over the radius of the lenses of make_probe: (N, 1) and (1, N).
std::pair<at::Tensor, at::Tensor> over_rim(std::int64_t size) {
  const double middle = static_cast<double>(size) / 2;
  const at::Tensor axis = (at::arange(size, at::kDouble) - middle) / (0.5 * middle);
  return {axis.unsqueeze(1), axis.unsqueeze(0)};
}

TEST(ShadowPhase, HasTheTwoFociOfAnAstigmaticLensOnBothSidesOfTheSample) {
  // Noll 6 is sqrt(6) rho^2 cos(2 angle), the angle from the columns' axis.
  const auto [row, col] = over_rim(64);
  for (const double rms : {3., -3.}) {
    const Phases phases = phases_of(through_lens({0, 0, rms}));
    EXPECT_LT(nearest(phases, std::sqrt(6) * rms * (col.square() - row.square())), 0.2);
    ASSERT_FALSE(phases.peaks.empty());
    EXPECT_GT(phases.peaks[0].strength, 20);
  }
}

TEST(ShadowPhase, HasTheDefocusThatBalancesSphericalAberration) {
  // Noll 11 is sqrt(5) (6 rho^4 - 6 rho^2 + 1).
  const auto [row, col] = over_rim(128);
  const at::Tensor square = row.square() + col.square();
  for (const double rms : {2., -2.}) {
    const at::Tensor expected = std::sqrt(5) * rms * 6 * (square.square() - square);
    EXPECT_LT(nearest(phases_of(through_lens({0, 0, 0, 0, 0, 0, 0, rms}, 128)), expected), 0.5);
  }
}

TEST(ShadowPhase, OfPatternsWithoutASampleIsWeak) {
  const Scan scan = through_lens({0, 0, 3});
  const at::Tensor mean = mean_pattern(scan.counts(), at::arange(scan.frames()));
  ScanFields fields = scan.fields();
  fields.counts = poisson_draws(mean.expand({scan.frames(), 64, 64}).contiguous(), at::arange(100),
                                1, Purpose::noise)
                      .to(at::kFloat);
  for (const PhasePeak& peak : phases_of(Scan(std::move(fields))).peaks)
    EXPECT_LT(peak.strength, 8);
}

TEST(ShadowPhase, ImageIsThePhaseAtTheRimOneRadiusFromTheCentre) {
  const Aperture aperture{.radius_px = 4, .row = 10, .col = 12};
  const at::Tensor phase = phase_image({1, 0.5, 0.25, 2}, aperture, 24);
  EXPECT_DOUBLE_EQ(phase[14][12].item<double>(), 1 + 0.5 + 2);
  EXPECT_DOUBLE_EQ(phase[10][8].item<double>(), 1 - 0.5 + 2);
  EXPECT_DOUBLE_EQ(phase[14][16].item<double>(), 2 + 0 + 0.5 + 8);
}

TEST(ProbeSearchSlow, FindsAnAstigmaticProbeBetweenItsFociAndOneWithSphericalAberration) {
  for (const std::vector<double>& zernike :
       {std::vector<double>{0.5, 0, 3.5}, {0, 0, 0, 0, 0, 0, 0, 1}}) {
    const Scan scan = through_lens(zernike);
    const FoundProbe found = find_probe(without_probe(scan), /*own=*/false);
    EXPECT_TRUE(found.sure);
    EXPECT_GT(likeness(found.probe, scan.probe()), 0.95) << found.what;
  }
}

TEST(ProbeSearch, FindsAProbeInFocusAndAPinhole) {
  for (const char* shape : {"gaussian", "disk"}) {
    const Scan scan = simulated(1, shape);
    const FoundProbe found = find_probe(without_probe(scan), /*own=*/false);
    EXPECT_TRUE(found.sure) << shape;
    EXPECT_GT(likeness(found.probe, scan.probe()), 0.85) << shape << ": " << found.what;
  }
}

TEST(ProbeSearch, KeepsTheScansOwnProbeToTheBitWhereItIsRight) {
  const Scan scan = simulated(1);
  const FoundProbe found = find_probe(scan, /*own=*/true);
  EXPECT_TRUE(found.of_scan);
  EXPECT_TRUE(at::equal(found.probe, scan.probe()));
}

TEST(ProbeSearch, IsLeftOutWhereALongerSolveFromTheScansOwnProbeExplainsMost) {
  const Scan scan = simulate({.pattern_size = 64,
                              .frames = 100,
                              .step_px = 11,
                              .photons = 1e6,
                              .position_error_px = 1.2,
                              .seed = 5});
  const FoundProbe found = find_probe(scan, /*own=*/true);
  ASSERT_EQ(found.trials.size(), 2);
  EXPECT_LT(found.trials[0].fit.explained(), 0.75);
  EXPECT_GT(found.trials[1].fit.explained(), 0.6);
  EXPECT_TRUE(at::equal(found.probe, scan.probe()));
}

TEST(ProbeSearch, DoesNotKeepTheScansProbeWhereASolveHadToMakeAnotherOfIt) {
  const Scan right = through_lens({0, 0, 0, 0, 0, 0, 0, 1});
  const Scan wrong = right.with_probe(through_lens({}).probe());
  const FoundProbe found = find_probe(wrong, /*own=*/true);
  EXPECT_FALSE(found.of_scan);
  EXPECT_GT(likeness(found.probe, right.probe()), 0.95) << found.what;
}

TEST(ProbeSearch, ReplacesAProbeOfTheWrongDefocus) {
  const Scan right = simulated(1);
  const Scan wrong = right.with_probe(simulated(-1).probe());
  const FoundProbe found = find_probe(wrong, /*own=*/true);
  EXPECT_FALSE(found.of_scan);
  EXPECT_GT(likeness(found.probe, right.probe()), 0.97) << found.what;
}

/// A smooth sample in light that leaves gaps between the patterns.
Scan scan_with_gaps() {
  return simulate({.object = "random-field",
                   .material = "independent",
                   .probe = "zernike",
                   .pattern_size = 64,
                   .frames = 80,
                   .step_px = 15.2,
                   .photons = 1e4,
                   .zernike_rad = {1.5, 0.4, -0.3, 0.3, 0.2},
                   .seed = 5});
}

TEST(ProbeSearchSlow, KeepsTheScansProbeWhereNoPatternOverlapsAnotherAndAWiderOneForetellsMore) {
  const Scan scan = scan_with_gaps();
  ASSERT_GT(median_step_px(scan.positions()), probe_diameter_px(scan.probe()));
  const FoundProbe found = find_probe(scan, /*own=*/true);
  const auto least = std::ranges::min_element(
      found.trials, {}, [](const ProbeTrial& each) { return each.fit.deviance; });
  ASSERT_LT(least->fit.deviance, 0.95 * found.fit.deviance);  // else there is nothing to test
  EXPECT_TRUE(found.of_scan) << least->what;
}

TEST(ProbeSearch, IsNotSureOfPatternsWithoutASample) {
  const Scan scan = simulated(1);
  const at::Tensor same = scan.counts()[0].expand({scan.frames(), 64, 64}).contiguous();
  ScanFields fields = scan.fields();
  fields.counts =
      poisson_draws(same.to(at::kDouble), at::arange(100), 1, Purpose::noise).to(at::kFloat);
  EXPECT_FALSE(find_probe(without_probe(Scan(std::move(fields))), /*own=*/false).sure);
}

TEST(ProbeSearch, IsTheSameOnAnyNumberOfThreads) {
  const Scan scan = without_probe(simulated(1));
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor one = find_probe(scan, false).probe;
  at::set_num_threads(3);
  const at::Tensor three = find_probe(scan, false).probe;
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(one, three));
}

TEST(ProbeSearch, RefusesTooFewPatterns) {
  const Scan scan = simulated(1);
  at::Tensor use = at::full({scan.frames()}, static_cast<int>(FrameUse::rejected), at::kByte);
  use.slice(0, 0, 5).zero_();
  EXPECT_EQ(message_of([&] { find_probe(scan.with_frame_use(use), false); }),
            "a first probe needs at least 8 used patterns, found 5");
}

TEST(FirstProbe, OfANearFieldScanWithoutOneIsTheMeanPatternsRoot) {
  const Scan scan = simulate(
      {.probe = "disk",
       .pattern_size = 64,
       .frames = 60,
       .step_px = 4,
       .photons = 1e6,
       .geometry = {
           .energy_ev = 10000, .distance_m = 0.2, .detector_pixel_m = 1e-6, .near_field = true}});
  ScanFields fields = scan.fields();
  fields.probe = probe_of_mean_pattern(scan.counts(), scan.mask(), at::arange(60), true);
  fields.probe_given = false;
  const Scan without(std::move(fields));
  EXPECT_GT(likeness(with_first_probe(without, {}).scan.probe(), scan.probe()), 0.95);
}

TEST(FirstProbe, AFileWithAProbeOfAnotherSizeIsRefusedByName) {
  const TestFolder folder;
  const std::filesystem::path file = folder / "probe of 32.npy";
  const at::Tensor probe = at::ones({32, 32}, at::kComplexFloat);
  write_text(file, npy_header(probe) + std::string(probe.nbytes(), '\0'));
  EXPECT_EQ(message_of([&] { with_first_probe(simulated(1), {.probe = file.string()}); }),
            file.string() +
                ": expected a probe (modes, 64, 64), the patterns' size, found (1, 32, 32) "
                "complex64");
}

TEST(FirstProbe, ScanKeepsTheFilesAndAutoOfAFileWithoutOneHasTheCountsPower) {
  const Scan scan = simulated(1);
  EXPECT_TRUE(at::equal(with_first_probe(scan, {.probe = "scan"}).scan.probe(), scan.probe()));
  const FirstProbe first = with_first_probe(without_probe(scan), {});
  ASSERT_TRUE(first.found.has_value());
  EXPECT_NEAR(probe_power(first.scan.probe()) /
                  mean_pattern(scan.counts(), at::arange(scan.frames())).sum().item<double>(),
              1, 1e-3);
}

// Each pattern alone is explained by many patches, and from every start by much the same one.
TEST(FirstProbe, DoubtsAnImageOfPatternsThatDoNotOverlap) {
  SimulateOptions options;
  options.pattern_size = 32;
  options.frames = 16;
  options.probe_diameter_px = 10;
  options.jitter = 0;
  for (const auto& [step, doubted] : {std::pair{13.0, true}, std::pair{9.0, false}}) {
    options.step_px = step;
    const std::string doubt = with_first_probe(simulate(options), {.probe = "scan"}).doubt;
    EXPECT_EQ(doubt.find("no pattern overlaps another") != std::string::npos, doubted) << doubt;
  }
}

}  // namespace
}  // namespace ptyche
