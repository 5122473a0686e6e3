// Photons out of the values of detectors that do not count.
#include "ptyche/io/readout_noise.h"

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include "ptyche/core/random.h"
#include "ptyche/io/pattern_values.h"
#include "ptyche/io/read_scan.h"
#include "ptyche/io/write_scan.h"
#include "ptyche/simulate/simulate.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

Scan counted(double photons = 2e4) {
  return simulate({.pattern_size = 64, .frames = 60, .step_px = 8, .photons = photons, .seed = 3});
}

at::Tensor all_pixels() { return at::ones({64, 64}, at::kBool); }

at::Tensor normal_like(const at::Tensor& values) {
  return at::normal(0.0, 1.0, values.sizes(), at::make_generator<at::CPUGeneratorImpl>(7),
                    at::TensorOptions(at::kDouble));
}

/// gain x counts + level + noise
at::Tensor read_out(const at::Tensor& counts, double gain, double level, double noise) {
  const at::Tensor values = counts.to(at::kDouble);
  return gain * values + level + noise * normal_like(values);
}

double share_of_equal(const at::Tensor& a, const at::Tensor& b) {
  return a.to(at::kDouble).eq(b.to(at::kDouble)).to(at::kDouble).mean().item<double>();
}

TEST(ReadoutNoise, GivesTheCountsBackWhereSinglePhotonsStandOut) {
  const at::Tensor counts = counted(2e3).counts();
  for (const double level : {0.0, 500.0}) {
    const at::Tensor values = read_out(counts, 150, level, 15);
    const auto found = readout_noise(values, all_pixels(), false);
    ASSERT_TRUE(found) << level;
    EXPECT_NEAR(found->gain, 150, 10);
    EXPECT_NEAR(found->level, level, 5);
    EXPECT_NEAR(found->noise, 15, 3);
    EXPECT_GT(share_of_equal(photons_of(values, all_pixels(), *found), counts), 0.98) << level;
  }
}

TEST(ReadoutNoise, OfWholeNumbersAboveALevelIsSeenToo) {
  const at::Tensor counts = counted().counts();
  const at::Tensor values = read_out(counts, 20, 300, 9).round().to(at::kInt);
  const auto found = readout_noise(values, all_pixels(), false);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->gain, 20, 2);
  EXPECT_NEAR(found->level, 300, 3);
}

TEST(ReadoutNoise, ThatHidesSinglePhotonsIsLeftAsABackgroundOfItsVariance) {
  const at::Tensor counts = counted().counts();
  const at::Tensor values = read_out(counts, 10, 0, 8);
  const auto found = readout_noise(values, all_pixels(), false);
  ASSERT_TRUE(found);
  const at::Tensor photons = photons_of(values, all_pixels(), *found);
  EXPECT_GE(photons.min().item<float>(), 0);
  const double more =
      (photons.to(at::kDouble) * found->gain / 10 - counts.to(at::kDouble)).mean().item<double>();
  EXPECT_NEAR(more, 0.64, 0.15);
}

/// Whole numbers of 0 and more, as a camera's file has them after its dark frame was taken away.
at::Tensor cut_off(const at::Tensor& values) { return values.round().clamp_min(0).to(at::kInt); }

TEST(ReadoutNoise, CutOffAtZeroIsFoundFromWhatStandsAbove) {
  for (const double photons : {5e3, 1e5})
    for (const double gain : {2.7, 12.6, 37.3}) {
      const at::Tensor counts = counted(photons).counts();
      const at::Tensor values = cut_off(read_out(counts, gain, 0, 0.3 * gain));
      const auto found = readout_noise(values, all_pixels(), /*whole=*/true);
      ASSERT_TRUE(found) << photons << " " << gain;
      EXPECT_NEAR(found->gain / gain, 1, 0.15);
      EXPECT_EQ(found->level, 0);
      EXPECT_NEAR(found->noise / gain, 0.3, 0.1);
    }
}

TEST(ReadoutNoise, CutOffAtZeroIsToldFromBrightPixels) {
  const at::Tensor counts = counted(5e3).counts();
  const at::Tensor noisy = cut_off(read_out(counts, 12.6, 0, 4));
  const auto with_bright_ones = [&](const at::Tensor& values) {
    at::Tensor bright = values.clone();
    for (std::int64_t i = 0; i < bright.size(0); ++i)
      for (std::int64_t k = 0; k < 10; ++k)
        bright[i][(17 * i + 11 * k) % 64][(29 * i + 23 * k) % 64] += 40 * (1 + k);
    bright.slice(0, 0, {}, 2).slice(1, 9, 10).slice(2, 50, 51).add_(500);  // blinks
    return bright;
  };
  EXPECT_FALSE(readout_noise(with_bright_ones(counts.to(at::kInt)), all_pixels(), true));
  const auto found = readout_noise(with_bright_ones(noisy), all_pixels(), true);
  ASSERT_TRUE(found);
  EXPECT_GT(found->gain, 12.6 / 1.4);
  EXPECT_LT(found->gain, 12.6 * 1.4);
}

TEST(ReadoutNoise, IsLeftInWholeNumbersThatAreSaidToBeCounts) {
  const TestFolder folder;
  ScanFields fields = counted(5e3).fields();
  fields.counts = cut_off(read_out(fields.counts, 12.6, 0, 4));
  const double total = fields.counts.sum(at::kDouble).item<double>();
  write_scan_as("CXI", folder / "camera.cxi", Scan(std::move(fields)));
  const auto total_read_as = [&](const std::string& domain) {
    ReadOptions options;
    options.file = folder / "camera.cxi";
    options.domain = domain;
    return read_scan(options).counts().sum(at::kDouble).item<double>();
  };
  EXPECT_EQ(total_read_as("counts"), total);
  EXPECT_LT(total_read_as("auto"), total / 8);
}

TEST(ReadoutNoise, IsNotSeenInCounts) {
  const at::Tensor counts = counted().counts().to(at::kDouble);
  at::Tensor hot = counts.clone();
  hot.slice(1, 40, 41).slice(2, 20, 21).fill_(1e4);
  EXPECT_FALSE(readout_noise(counts, all_pixels(), false));
  EXPECT_FALSE(readout_noise(hot, all_pixels(), false));
  EXPECT_FALSE(readout_noise(3.7 * counts, all_pixels(), false));
  EXPECT_FALSE(readout_noise(counts.square(), all_pixels(), false)) << "taken for amplitudes";
  const at::Tensor light =
      poisson_draws(at::full_like(counts, 50), at::arange(60), 1, Purpose::noise);
  EXPECT_FALSE(readout_noise(counts + light, all_pixels(), false)) << "an even background";
  EXPECT_FALSE(readout_noise(light, all_pixels(), /*whole=*/true)) << "and nothing else";
}

/// Their power is everywhere in a transform, as that of a gain; `step` patterns from one to the
/// next.
at::Tensor with_rays(const at::Tensor& counts, double brightness, std::int64_t step) {
  at::Tensor rays = counts.to(at::kDouble).clone();
  for (std::int64_t i = 0; i < rays.size(0); i += step)
    rays[i][(17 * i) % 64][(29 * i) % 64] = brightness;
  return rays;
}

TEST(ReadoutNoise, IsNotSeenInCosmicRaysAboveAnEvenBackground) {
  const at::Tensor counts = counted().counts().to(at::kDouble);
  for (const double background : {3.0, 8.0, 50.0})
    for (const double brightness : {500.0, 3000.0}) {
      const at::Tensor light =
          poisson_draws(at::full_like(counts, background), at::arange(60), 1, Purpose::noise);
      const at::Tensor rays = with_rays(counts + light, brightness, 1);
      EXPECT_FALSE(readout_noise(rays, all_pixels(), /*whole=*/true))
          << background << ", " << brightness;
    }
}

TEST(ReadoutNoise, IsNotLookedForInPatternsOfFewRowsOrNone) {
  for (const std::int64_t rows : {0, 1, 15}) {
    const at::Tensor values = normal_like(at::empty({20, rows, 1000}));
    EXPECT_FALSE(readout_noise(values, at::ones({rows, 1000}, at::kBool), false)) << rows;
  }
}

TEST(ReadoutNoise, IsNotSeenInPatternsWithoutNoiseNorInFewValuesBelowZero) {
  const at::Tensor expected =
      simulate({.pattern_size = 64, .frames = 60, .step_px = 8, .noise = false}).counts();
  EXPECT_FALSE(readout_noise(expected, all_pixels(), false));
  at::Tensor marked = counted().counts().to(at::kDouble);
  marked.slice(0, 3, 9).slice(1, 5, 6).fill_(-1);
  EXPECT_FALSE(readout_noise(marked, all_pixels(), false));
}

/// Counts of a flat field that was corrected and of a beam that was measured.
at::Tensor corrected(const at::Tensor& counts) {
  const at::Tensor flat = 1 + 0.05 * normal_like(counts.slice(0, 0, 1).to(at::kDouble));
  const at::Tensor beam = 1 + 0.03 * normal_like(at::empty({counts.size(0), 1, 1}));
  return counts.to(at::kDouble) / flat / beam;
}

TEST(ReadoutNoise, IsSeenBesideHiddenPixelsThatHoldNoNumbers) {
  at::Tensor values = read_out(counted().counts(), 20, 0, 6).clamp_min(0).round();
  at::Tensor mask = all_pixels();
  mask[5][7] = false;
  values.select(1, 5).select(1, 7).fill_(NAN);
  const auto found = readout_noise(values, mask, true);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->gain, 20, 2);
}

TEST(ReadoutNoise, IsNotWhatCountsHaveThatWereStoredModuloAPowerOfTwo) {
  const at::Tensor counts = counted(1e6).counts().to(at::kInt).remainder(256);
  EXPECT_TRUE(wrapped_values(counts));
  EXPECT_FALSE(readout_noise(counts, all_pixels(), true));
}

TEST(WrappedValues, AreNotThoseAtTheRimOfAnAperture) {
  const at::Tensor axis = at::arange(64, at::kDouble) - 32;
  const at::Tensor disc = at::hypot(axis.unsqueeze(1), axis).lt(16);
  at::Tensor counts =
      (190 + std::sqrt(190.0) * normal_like(at::empty({60, 64, 64}, at::kDouble))).round() * disc;
  counts = counts.clamp_max(250);
  counts[7][32][30] = 255;
  EXPECT_FALSE(wrapped_values(counts));
  EXPECT_FALSE(wrapped_values((1.3 * counts).round().clamp_max(255)));  // cut off
  EXPECT_FALSE(wrapped_values(counts.slice(0, 0, 0)));
  counts = (1.3 * counts).round().remainder(256);
  counts[7][32][30] = 255;
  const auto found = wrapped_values(counts);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, 256);
}

TEST(NoiseOfFractions, TellsCountsFromRootsOfCounts) {
  for (const double photons : {1e3, 2e4, 1e5}) {
    const at::Tensor values = corrected(counted(photons).counts());
    EXPECT_EQ(noise_of_fractions(values, all_pixels()), NoiseOf::counts) << photons;
    EXPECT_EQ(noise_of_fractions(values.sqrt(), all_pixels()), NoiseOf::roots) << photons;
  }
}

TEST(NoiseOfFractions, IsUnknownInAnotherUnitAndWithoutNoise) {
  const at::Tensor values = corrected(counted().counts());
  EXPECT_EQ(noise_of_fractions(1e-4 * values, all_pixels()), NoiseOf::unknown);
  EXPECT_EQ(noise_of_fractions(1e-4 * values.sqrt(), all_pixels()), NoiseOf::unknown);
  const at::Tensor expected =
      simulate({.pattern_size = 64, .frames = 60, .step_px = 8, .noise = false}).counts();
  EXPECT_EQ(noise_of_fractions(1e-4 * expected.to(at::kDouble), all_pixels()), NoiseOf::unknown);
  EXPECT_EQ(noise_of_fractions(at::zeros({60, 64, 64}), all_pixels()), NoiseOf::unknown);
  EXPECT_EQ(noise_of_fractions(at::rand({2, 8, 8}), at::ones({8, 8}, at::kBool)), NoiseOf::unknown);
}

TEST(PhotonGain, IsWhatAPhotonCountsAndMakesABillionPhotonsOfPatternsWithoutNoise) {
  const at::Tensor counts = counted().counts().to(at::kDouble);
  for (const double unit : {1e-6, 0.03, 1.0, 40.0})
    EXPECT_NEAR(photon_gain(unit * counts, all_pixels()) / unit, 1, 0.15) << unit;
  at::Tensor still = counts.slice(0, 0, 1).repeat({20, 1, 1});
  EXPECT_NEAR(photon_gain(still, all_pixels()), still[0].sum().item<double>() / 1e9, 1e-12);
}

}  // namespace
}  // namespace ptyche
