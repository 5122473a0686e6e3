#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/core/random.h"
#include "ptyche/evaluate/evaluate.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/simulate/simulate.h"

namespace ptyche {
namespace {

struct Case {
  ScanFields scan;
  Reconstruction image;
};

at::Tensor numbers(std::int64_t size) { return at::arange(size, at::kDouble); }

at::Tensor example_probe() {
  const at::Tensor y = (numbers(8) - 3.6).unsqueeze(1), x = numbers(8) - 3.6;
  const at::Tensor envelope = (-(y.square() + x.square()) / 8).exp();
  const at::Tensor curved = y.square() + 0 * x;
  return at::stack(
      {at::polar(9 * envelope, 0.1 * curved), at::polar(4 * envelope, 0.2 * curved - 0.2 * x)});
}

at::Tensor example_counts() {
  const at::Tensor j = numbers(6).view({6, 1, 1}), q = numbers(8).view({8, 1}), p = numbers(8);
  const at::Tensor spot = (-((q - 4).square() + (p - 4).square()) / 6).exp();
  return (9 * spot * (1 + 0.5 * (1 + 2 * j + q - p).sin()) + 0.4).floor();
}

/// The scan of tests/evaluate/make_expected.py: patterns 1, 3 and 5 are held out.
Case example() {
  const at::Tensor r = numbers(20).unsqueeze(1), c = numbers(22);
  const at::Tensor a = numbers(8).unsqueeze(1), b = numbers(8);
  Case made;
  made.scan.counts = example_counts().to(at::kByte);
  made.scan.positions =
      at::tensor({6.0, 7.0, 9.25, 10.5, 12.7, 8.1, 15.4, 16.75, 7.5, 13.0, 1.3, 20.2}, at::kDouble)
          .view({6, 2});
  made.scan.probe = example_probe().to(at::kComplexFloat);
  made.scan.mask = (3 * a + 5 * b).remainder(7).ne(0);
  made.scan.frame_use = at::tensor({0, 1, 0, 1, 0, 1}, at::kByte);
  made.image.object =
      at::polar(0.8 + 0.15 * (0.9 * r + 0.4 * c).sin(), 0.7 * (0.5 * r - 0.8 * c).cos())
          .unsqueeze(0);
  made.image.probe = example_probe().unsqueeze(0);
  made.image.background = 0.002 + 0.0005 * (a + 2 * b);
  made.image.origin_row = -2;
  made.image.origin_col = 1;
  return made;
}

TEST(DataFit, AgreesWithAnIndependentModelInNumPy) {
  Case made = example();
  const Scan scan(made.scan);
  const at::Tensor frames = scan.frames_with(FrameUse::held_out);
  const auto expect = [&](Interpolation interpolation, bool masked, double r, double deviance) {
    made.image.interpolation = interpolation;
    const DataFit fit = data_fit(made.image, scan, frames, masked);
    EXPECT_NEAR(fit.r_factor, r, 1e-9);
    EXPECT_NEAR(fit.deviance_per_photon, deviance, 1e-9);
    EXPECT_EQ(fit.frames, 3);
  };
  expect(Interpolation::bilinear, false, 1.06042637685, 9.26722185482);
  expect(Interpolation::bilinear, true, 1.06365922021, 9.49597941537);
  expect(Interpolation::probe_fourier, false, 1.06417069893, 9.41380031136);
  expect(Interpolation::probe_fourier, true, 1.07275337968, 9.67672754117);
}

TEST(TrivialFit, AgreesWithTheMeanOfTheUsedPatternsInNumPy) {
  const Scan scan(example().scan);
  const at::Tensor frames = scan.frames_with(FrameUse::held_out);
  const TrivialFit all = trivial_fit(scan, frames, false), masked = trivial_fit(scan, frames, true);
  EXPECT_NEAR(all.r_factor, 0.216162884344, 1e-11);
  EXPECT_NEAR(all.deviance_per_photon, 0.209223016487, 1e-11);
  EXPECT_NEAR(all.mean_pattern_r_factor, 0.224345060062, 1e-11);
  EXPECT_NEAR(all.mean_pattern_deviance_per_photon, 0.197922331717, 1e-11);
  EXPECT_NEAR(masked.r_factor, 0.216644401448, 1e-11);
  EXPECT_NEAR(masked.deviance_per_photon, 0.216656411868, 1e-11);
  EXPECT_NEAR(masked.mean_pattern_r_factor, 0.222539973736, 1e-11);
  EXPECT_NEAR(masked.mean_pattern_deviance_per_photon, 0.200170675477, 1e-11);
}

/// Every pixel of every pattern has the same mean: a probe of one pixel lights the detector evenly.
Case even_light(double mean) {
  constexpr std::int64_t size = 16, frames = 160;
  Case made;
  made.image.object = at::ones({1, 40, 40}, at::kComplexDouble);
  made.image.probe = at::zeros({1, 1, size, size}, at::kComplexDouble);
  made.image.probe[0][0][8][8] = size * std::sqrt(mean);
  made.scan.probe = made.image.main_probe().to(at::kComplexFloat);
  made.scan.positions = at::full({frames, 2}, 20.0, at::kDouble);
  RandomStream stream(5, Purpose::noise);
  made.scan.counts = at::empty({frames, size, size}, at::kFloat);
  float* count = made.scan.counts.mutable_data_ptr<float>();
  for (std::int64_t k = 0; k < made.scan.counts.numel(); ++k)
    count[k] = static_cast<float>(stream.poisson(mean));
  return made;
}

/// Expectations over the Poisson distribution of one pixel, summed over its probabilities.
struct PixelFloor {
  double r_factor = 0, deviance_per_photon = 0;
};

PixelFloor exact_floor(double mean) {
  double difference = 0, amplitude = 0, deviance = 0, probability = std::exp(-mean);
  for (int n = 0; n < 200; ++n) {
    difference += probability * std::abs(std::sqrt(n) - std::sqrt(mean));
    amplitude += probability * std::sqrt(n);
    deviance += probability * 2 * ((n > 0 ? n * std::log(n / mean) : 0) - (n - mean));
    probability *= mean / (n + 1);
  }
  return {difference / amplitude, deviance / mean};
}

TEST(DataFit, TheTrueModelReachesTheFloorThatPoissonStatisticsSet) {
  for (const double mean : {0.3, 5.0, 40.0}) {
    const Case made = even_light(mean);
    const DataFit fit = data_fit(made.image, Scan(made.scan), at::arange(160, at::kLong), false);
    const PixelFloor floor = exact_floor(mean);
    EXPECT_NEAR(fit.r_factor_floor / floor.r_factor, 1, 1e-3) << mean;
    EXPECT_NEAR(fit.deviance_per_photon_floor / floor.deviance_per_photon, 1, 0.02) << mean;
    EXPECT_NEAR(fit.r_factor / fit.r_factor_floor, 1, 0.05) << mean;
    EXPECT_NEAR(fit.deviance_per_photon / fit.deviance_per_photon_floor, 1, 0.05) << mean;
  }
}

TEST(DataFit, AWrongObjectIsFarAboveTheFloor) {
  Case made = even_light(40);
  made.image.object *= 1.2;
  const DataFit fit = data_fit(made.image, Scan(made.scan), at::arange(160, at::kLong), false);
  EXPECT_GT(fit.deviance_per_photon, 2 * fit.deviance_per_photon_floor);
  EXPECT_GT(fit.r_factor, 2 * fit.r_factor_floor);
}

TEST(DataFit, APositionFarOutsideTheObjectSeesEmptySpace) {
  Case made = example();
  // Whole pixels, for the patch of ones then needs no probe between pixels.
  made.scan.positions = at::tensor({1e7, -3e6}, at::kDouble).expand({6, 2}).contiguous();
  made.image.background = at::Tensor();
  const at::Tensor empty =
      predict_intensity(at::ones({8, 8}, at::kComplexDouble), made.image.main_probe(),
                        at::full({1, 2}, 4.0, at::kDouble), Interpolation::probe_fourier, {});
  made.scan.counts =
      at::fft_fftshift(empty.to(at::kFloat), at::IntArrayRef{1, 2}).expand({6, 8, 8}).contiguous();
  const DataFit fit = data_fit(made.image, Scan(made.scan), at::arange(6, at::kLong), false);
  EXPECT_LT(fit.r_factor, 1e-6);
}

TEST(DataFit, RefusesNoPatternsAndAProbeOfAnotherSize) {
  Case made = example();
  const Scan scan(made.scan);
  EXPECT_THROW(data_fit(made.image, scan, at::empty({0}, at::kLong), false), InvalidInput);
  EXPECT_THROW(data_fit(made.image, scan, at::full({1}, 6, at::kLong), false), InvalidInput);
  made.image.probe = at::ones({1, 1, 16, 16}, at::kComplexFloat);
  EXPECT_THROW(data_fit(made.image, scan, at::arange(6, at::kLong), false), InvalidInput);
}

TEST(PoissonDraws, DependOnTheFrameAlone) {
  const at::Tensor intensity = 3 + numbers(4 * 50).view({4, 50}).sin();
  const at::Tensor all =
      poisson_draws(intensity, at::tensor({7, 2, 9, 4}, at::kLong), 0, Purpose::noise);
  const at::Tensor one =
      poisson_draws(intensity.narrow(0, 2, 1), at::tensor({9}, at::kLong), 0, Purpose::noise);
  EXPECT_TRUE(at::equal(all.narrow(0, 2, 1), one));
  EXPECT_FALSE(at::equal(all[0], all[1]));
}

}  // namespace
}  // namespace ptyche
