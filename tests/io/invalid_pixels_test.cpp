// Pixels that hold no count in some patterns; scans of which most was never measured.
#include "ptyche/io/invalid_pixels.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/io/counts.h"
#include "ptyche/io/readout_noise.h"
#include "tests/support/refusal.h"

namespace ptyche {
namespace {

constexpr std::int64_t kRasterSide = 8, kRasterFrames = kRasterSide * kRasterSide, kWidth = 32;

/// Light around the middle that changes slowly from place to place, (64, 32, 32) float64 whole
/// numbers up to `most`.
at::Tensor slow_light(double most = 5000) {
  const at::Tensor line = at::arange(kWidth, at::kDouble) - kWidth / 2;
  const at::Tensor away = line.square().unsqueeze(1) + line.square().unsqueeze(0);
  const at::Tensor number = at::arange(kRasterFrames, at::kDouble);
  const at::Tensor row = at::floor(number / kRasterSide), col = number - kRasterSide * row;
  const at::Tensor wave = at::sin(0.1 * row.view({-1, 1, 1}) + 0.3 * line.view({1, -1, 1})) +
                          at::cos(0.1 * col.view({-1, 1, 1}) - 0.2 * line.view({1, 1, -1}));
  return (most * (-away / 100).exp() * (0.8 + 0.1 * wave)).round();
}

RawScan scan_with(const at::Tensor& patterns, double ceiling = 0) {
  RawScan raw;
  raw.patterns = patterns.clone();
  raw.patterns_name = "data";
  raw.ceiling = ceiling;
  raw.domain = Domain::counts;
  raw.mask = at::ones({kWidth, kWidth}, at::kBool);
  const at::Tensor line = 4 * at::arange(kRasterSide, at::kDouble);
  raw.positions = at::stack({line.repeat_interleave(kRasterSide), line.repeat({kRasterSide})}, 1);
  return raw;
}

/// Of every fifth pattern another module of 8 x 8, (64, 32, 32) bool.
at::Tensor modules() {
  at::Tensor missing = at::zeros({kRasterFrames, kWidth, kWidth}, at::kBool);
  for (std::int64_t i = 0; i < kRasterFrames; i += 5)
    missing[i].narrow(0, 8 + 8 * (i % 2), 8).narrow(1, 8 + 8 * (i / 2 % 2), 8).fill_(true);
  return missing;
}

double error_in(const at::Tensor& found, const at::Tensor& truth, const at::Tensor& pixels) {
  const at::Tensor off = (found.to(at::kDouble) - truth).abs().masked_select(pixels);
  return (off.sum() / truth.masked_select(pixels).sum()).item<double>();
}

/// Of every pattern but each fourth another module: too many to be left out.
at::Tensor many_modules() {
  at::Tensor missing = at::zeros({kRasterFrames, kWidth, kWidth}, at::kBool);
  for (std::int64_t i = 0; i < kRasterFrames; ++i)
    if (i % 4 != 0)
      missing[i].narrow(0, 8 + 8 * (i % 2), 8).narrow(1, 8 + 8 * (i / 2 % 2), 8).fill_(true);
  return missing;
}

TEST(InvalidPixels, WhereLightFallsLeaveTheirPatternsOut) {
  const at::Tensor light = slow_light(), missing = modules();
  RawScan raw = scan_with(light.masked_fill(missing, NAN).to(at::kFloat));
  const Counts counts = take_counts(raw, {});
  for (std::int64_t i = 0; i < kRasterFrames; ++i) {
    const at::Tensor found = counts.counts[i].to(at::kDouble);
    EXPECT_TRUE(at::equal(found, i % 5 == 0 ? at::zeros_like(found) : light[i])) << i;
  }
  EXPECT_EQ(counts.counts.scalar_type(), at::kShort) << "whole numbers, as before";
}

TEST(InvalidPixels, OfManyPatternsAreEstimatedFromTheNearestThatHaveThem) {
  const at::Tensor light = slow_light(), missing = many_modules();
  struct Case {
    at::ScalarType type;
    double marker;
  };
  for (const Case& one : {Case{at::kFloat, NAN},
                          {at::kDouble, INFINITY},
                          {at::kInt, 65535},
                          {at::kInt, 65534},
                          {at::kInt, 2147483647},
                          {at::kLong, 4294967295},
                          {at::kLong, 9223372036854775807.0},
                          {at::kShort, 32767},
                          {at::kFloat, 4294967296},
                          {at::kFloat, 65535},
                          {at::kInt, -1},
                          {at::kLong, -2}}) {
    at::Tensor patterns = light.to(one.type).clone();
    if (one.marker > 9e18 && one.type == at::kLong)
      patterns.masked_fill_(missing, std::numeric_limits<std::int64_t>::max());
    else
      patterns.masked_fill_(missing, one.marker);
    RawScan raw = scan_with(patterns);
    settle_invalid_pixels(raw, {});
    EXPECT_LT(error_in(raw.patterns, light, missing), 0.05) << one.marker;
    EXPECT_EQ(error_in(raw.patterns, light, missing.logical_not()), 0) << one.marker;
    EXPECT_TRUE(at::equal(raw.patterns, raw.patterns.round())) << one.marker;
    EXPECT_TRUE(raw.mask.all().item<bool>()) << one.marker;
  }
}

TEST(InvalidPixels, ScansWithoutAnyStayAsTheyAre) {
  const at::Tensor light = slow_light();
  at::manual_seed(3);
  const at::Tensor noise = (light + 3 * at::randn(light.sizes(), at::kDouble)).round();
  const at::Tensor fractions = light - 0.3;
  for (const at::Tensor& patterns :
       {light.to(at::kInt), light.to(at::kFloat), noise.to(at::kInt), fractions.to(at::kFloat),
        slow_light(65535).to(at::kInt), slow_light(32767).to(at::kShort)}) {
    RawScan raw = scan_with(patterns, 65535);
    settle_invalid_pixels(raw, {});
    EXPECT_TRUE(at::equal(raw.patterns, patterns));
  }
}

TEST(InvalidPixels, SaturatedLightIsNoMarker) {
  for (const double top : {32767.0, 65535.0}) {
    const at::Tensor clipped = slow_light(3 * top).clamp_max(top).to(at::kInt);
    ASSERT_GT(clipped.eq(top).sum().item<int>(), kRasterFrames);
    RawScan raw = scan_with(clipped, top);
    settle_invalid_pixels(raw, {});
    EXPECT_TRUE(at::equal(raw.patterns, clipped)) << top;
  }
}

TEST(InvalidPixels, FewInTheDarkAreMaskedInAllPatterns) {
  const at::Tensor light = slow_light();
  at::Tensor patterns = light.to(at::kInt);
  for (const std::int64_t i : {3, 17, 40}) patterns[i][1][i % kWidth] = 65535;
  RawScan raw = scan_with(patterns);
  settle_invalid_pixels(raw, {});
  EXPECT_EQ(raw.mask.logical_not().sum().item<int>(), 3);
  for (const std::int64_t i : {3, 17, 40}) EXPECT_FALSE(raw.mask[1][i % kWidth].item<bool>());
}

TEST(InvalidPixels, APatternThatMissesNearlyAllIsLeftOut) {
  at::Tensor patterns = slow_light().to(at::kFloat);
  patterns.narrow(0, 60, 4).fill_(NAN);
  RawScan raw = scan_with(patterns);
  const Counts counts = take_counts(raw, {});
  EXPECT_EQ(counts.counts.narrow(0, 60, 4).max().item<double>(), 0);
  EXPECT_EQ(counts.counts.scalar_type(), at::kShort) << "whole numbers, as before";
}

TEST(InvalidPixels, HiddenOnesMayHoldAnything) {
  at::Tensor patterns = slow_light().to(at::kFloat);
  RawScan raw = scan_with(patterns);
  raw.mask.narrow(0, 0, 4).fill_(false);
  for (const float value : {NAN, -1.0f, 65535.0f, 4294967296.0f}) {
    raw.patterns.narrow(1, 0, 4).fill_(value);
    const at::Tensor before = raw.patterns.clone();
    settle_invalid_pixels(raw, {});
    EXPECT_TRUE(at::equal(raw.patterns.narrow(1, 4, kWidth - 4), before.narrow(1, 4, kWidth - 4)));
  }
}

/// Photons of the middle of that light, times a gain, with a detector's noise.
at::Tensor photographed(double gain, double noise) {
  at::manual_seed(11);
  const at::Tensor line = (at::arange(kWidth, at::kDouble) - kWidth / 2).square();
  const at::Tensor inside = (line.unsqueeze(1) + line.unsqueeze(0)).lt(120);
  const at::Tensor photons = at::poisson(slow_light(300) * inside);
  return (gain * photons + noise * at::randn(photons.sizes(), at::kDouble)).round();
}

TEST(Unmeasured, PatternsSayNothingOfTheGain) {
  const at::Tensor patterns = photographed(40, 4);
  const RawScan raw = scan_with(patterns);
  const auto whole = readout_noise(patterns, raw.mask, true);
  ASSERT_TRUE(whole);
  for (const std::int64_t measured : {60, 24, 12}) {
    at::Tensor early = patterns.clone();
    early.narrow(0, measured, kRasterFrames - measured).zero_();
    const auto found = readout_noise(early, raw.mask, true);
    ASSERT_TRUE(found) << measured;
    EXPECT_NEAR(found->gain / whole->gain, 1, 0.15) << measured;
  }
}

TEST(Unmeasured, AmplitudesOfSuchScansKeepTheirScale) {
  const at::Tensor amplitudes = photographed(1, 0).sqrt() * 7;
  const at::Tensor mask = at::ones({kWidth, kWidth}, at::kBool);
  const double whole = photon_gain(amplitudes.square(), mask);
  at::Tensor early = amplitudes.square();
  early.narrow(0, 20, kRasterFrames - 20).zero_();
  EXPECT_NEAR(photon_gain(early, mask) / whole, 1, 0.3);  // of 20 patterns
}

TEST(Unmeasured, AreLeftOutAsDarkHoweverManyThereAre) {
  for (const double rest : {0.0, 0.3}) {  // nothing, or a detector's noise
    at::Tensor sums = at::full({400, 2}, rest, at::kDouble);
    sums.select(1, 1).zero_();
    sums.narrow(0, 0, 150).select(1, 0).copy_(3e4 + 10 * at::arange(150, at::kDouble));
    const at::Tensor line = at::arange(400, at::kDouble);
    const at::Tensor use = choose_frames(sums, 4096, at::stack({line, line}, 1), 0, {});
    EXPECT_EQ(use.narrow(0, 0, 150).sum().item<int>(), 0) << rest;
    EXPECT_TRUE(
        use.narrow(0, 150, 250).eq(static_cast<int>(FrameUse::rejected)).all().item<bool>());
  }
}

}  // namespace
}  // namespace ptyche
