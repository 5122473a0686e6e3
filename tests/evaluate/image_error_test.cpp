#include "ptyche/evaluate/image_error.h"

#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "ptyche/core/random.h"
#include "ptyche/data/array.h"
#include "tests/evaluate/blobs.h"

namespace ptyche {
namespace {

/// The two images of tests/evaluate/make_expected.py.
struct Pair {
  at::Tensor truth, image;
};

Pair images() {
  const at::Tensor r = at::arange(40, at::kDouble).unsqueeze(1);
  const at::Tensor c = at::arange(36, at::kDouble);
  const at::Tensor amplitude =
      0.75 + 0.2 * (0.7 * r + 0.3 * c).sin() + 0.05 * (1.9 * r - 1.1 * c).cos();
  const at::Tensor phase =
      0.6 * (0.45 * r).sin() * (0.38 * c).cos() + 0.3 * (1.3 * c + 0.2 * r).cos();
  const at::Tensor too_bright = 1 + 0.1 * (2.3 * r + 1.7 * c).sin();
  const at::Tensor too_late = 0.2 * (1.1 * r - 2.1 * c).cos();
  return {at::polar(amplitude, phase), at::polar(amplitude * too_bright, phase + too_late)};
}

/// Independent complex normal numbers (size, size).
at::Tensor noise(std::int64_t size, std::uint64_t index) {
  RandomStream stream(1, Purpose::noise, index);
  at::Tensor values = at::empty({size * size * 2}, at::kDouble);
  double* value = values.mutable_data_ptr<double>();
  for (std::int64_t k = 0; k < values.numel(); ++k) value[k] = stream.normal();
  return at::view_as_complex(values.view({size, size, 2}));
}

TEST(ImageError, AgreesWithTheDefiningSumsInNumPy) {
  const auto [truth, image] = images();
  EXPECT_NEAR(nrmse(truth, image), 0.158082319862, 1e-11);
  EXPECT_NEAR(nrmse_contrast(truth, image), 0.389105499053, 1e-11);
  EXPECT_NEAR(amplitude_rmse(truth, image), 0.054020332519, 1e-11);
  EXPECT_NEAR(phase_rmse_rad(truth, image), 0.141421511398, 1e-11);
}

TEST(ImageError, OfTheBestConstantIsExactlyTheContrast) {
  const at::Tensor truth = images().truth;
  EXPECT_DOUBLE_EQ(nrmse_contrast(truth, truth.mean().expand_as(truth)), 1);
}

TEST(ImageError, PhaseLeavesOutDarkPixelsOfTheTruth) {
  const at::Tensor truth = at::tensor({0.0, 1.0}, at::kDouble).to(at::kComplexDouble);
  const at::Tensor image =
      at::polar(at::ones({2}, at::kDouble), at::tensor({2.0, 0.5}, at::kDouble));
  EXPECT_NEAR(phase_rmse_rad(truth, image), 0.5, 1e-14);
}

TEST(GaussianBlur, KeepsAConstantAndDampsAWaveByItsTransferFunction) {
  EXPECT_NEAR((separable_mean(at::full({20, 20}, 3.0, at::kDouble), gaussian_weights(1.5, 5)) - 3)
                  .abs()
                  .max()
                  .item<double>(),
              0, 1e-14);
  const at::Tensor wave = (0.5 * at::arange(60, at::kDouble)).cos().expand({60, 60});
  const at::Tensor blurred = separable_mean(wave, gaussian_weights(1.0, 8));
  const double kept = (blurred / wave.narrow(0, 8, 44).narrow(1, 8, 44)).median().item<double>();
  EXPECT_NEAR(kept, std::exp(-0.5 * 0.5 * 0.5), 1e-6);
}

TEST(Ssim, OfIdenticalImagesIsOne) {
  const at::Tensor amplitude = images().truth.abs();
  EXPECT_NEAR(ssim(amplitude, amplitude).value(), 1, 1e-12);
}

TEST(Ssim, AgreesWithTheDefiningSumsInNumPy) {
  const auto [truth, image] = images();
  EXPECT_NEAR(ssim(truth.abs(), image.abs()).value(), 0.914198787798, 1e-11);
}

TEST(Ssim, IsAbsentForAConstantTruth) {
  const at::Tensor flat = at::ones({16, 16}, at::kDouble);
  EXPECT_FALSE(ssim(flat, flat).has_value());
}

TEST(Ssim, RefusesImagesBelowItsWindow) {
  const at::Tensor small = at::rand({10, 16}, at::kDouble);
  EXPECT_THROW(ssim(small, small), InvalidInput);
}

TEST(FourierRingCorrelation, AgreesWithTheDefiningSumsInNumPy) {
  const auto [truth, image] = images();
  const RingCorrelation rings = fourier_ring_correlation(truth, image);
  ASSERT_EQ(rings.correlation.size(), 19u);
  const std::size_t ring[] = {1, 5, 9, 14, 18};
  const double correlation[] = {0.999981483426, 0.999273260231, 0.950316112131, 0.190769086963,
                                0.167345157592};
  const double half_bit[] = {0.617964447091, 0.439014237326, 0.352165995925, 0.332142629178,
                             0.327354531044};
  const double one_bit[] = {0.709413758038, 0.563713474764, 0.490616563747, 0.473534459672,
                            0.469436788182};
  for (int k = 0; k < 5; ++k) {
    EXPECT_NEAR(rings.one_bit[ring[k]], one_bit[k], 1e-10);
    EXPECT_NEAR(rings.correlation[ring[k]], correlation[k], 1e-10);
    EXPECT_NEAR(rings.half_bit[ring[k]], half_bit[k], 1e-10);
    EXPECT_DOUBLE_EQ(rings.cycles_per_px[ring[k]], static_cast<double>(ring[k]) / 36);
  }
}

TEST(FourierRingCorrelation, OfPureNoiseCrossesAtTheFirstRings) {
  double sum = 0;
  for (std::uint64_t k = 0; k < 5; ++k)
    sum += half_bit_crossing(fourier_ring_correlation(noise(128, 2 * k), noise(128, 2 * k + 1)));
  EXPECT_LT(sum / 5, 0.06);
}

TEST(FourierRingCorrelation, OfABandLimitedSignalCrossesNearItsLimit) {
  const at::Tensor frequency = at::fft_fftfreq(256, 1.0, at::kDouble);
  const at::Tensor pass = at::hypot(frequency.unsqueeze(1), frequency.unsqueeze(0)).lt(0.2);
  const at::Tensor signal = at::fft_ifft2(at::fft_fft2(noise(256, 100)) * pass);
  const RingCorrelation rings =
      fourier_ring_correlation(signal + 0.1 * noise(256, 101), signal + 0.1 * noise(256, 102));
  EXPECT_NEAR(half_bit_crossing(rings), 0.2, 0.02);
  EXPECT_NEAR(crossing(rings, 0.5), 0.2, 0.02);
  EXPECT_NEAR(crossing(rings, 1.0 / 7), 0.2, 0.02);
}

TEST(FourierRingCorrelation, OfAFlatImageCrossesAtTheFirstRingThatCounts) {
  const at::Tensor flat = at::ones({40, 36}, at::kComplexDouble);
  EXPECT_DOUBLE_EQ(crossing(fourier_ring_correlation(images().truth, flat), 0.5), 4.0 / 36);
}

TEST(FourierRingCorrelation, CrossesBetweenRingsByLinearInterpolation) {
  RingCorrelation rings;
  for (int k = 0; k <= 8; ++k) {
    rings.cycles_per_px.push_back(k / 16.0);
    rings.correlation.push_back(k < 4 ? 0.0 : 1 - 0.2 * (k - 4));  // ring 6: 0.6, ring 7: 0.4
  }
  EXPECT_DOUBLE_EQ(crossing(rings, 0.45), 6.75 / 16);
  EXPECT_DOUBLE_EQ(crossing(rings, 0.1), 0.5);
}

TEST(LowFrequencyPhase, IsTheDriftAndNotTheNoise) {
  const at::Tensor truth =
      at::polar(at::ones({64, 64}, at::kDouble), at::zeros({64, 64}, at::kDouble));
  // +-0.2 rad on alternate blocks, and a checkerboard of +-0.5 rad that cancels within each.
  const at::Tensor index = at::arange(64, at::kDouble);
  const at::Tensor drift = 0.2 * (1 - 2 * (index / 16).floor().remainder(2)).expand({64, 64});
  const at::Tensor checker = 0.5 * (1 - 2 * (index.unsqueeze(1) + index).remainder(2));
  const at::Tensor image = at::polar(at::ones({64, 64}, at::kDouble), drift + checker);
  EXPECT_NEAR(low_frequency_phase_rad(truth, image), 0.2, 1e-12);
}

TEST(BlurredByOnePx, DampsAWaveByItsTransferFunction) {
  const at::Tensor wave = (0.8 * at::arange(64, at::kDouble)).cos().expand({64, 64});
  const at::Tensor blurred = blurred_by_one_px((1 + 0.01 * wave).to(at::kComplexDouble));
  const at::Tensor expected = 1 + 0.01 * std::exp(-0.5 * 0.64) * wave;
  const at::Tensor error = (at::real(blurred) - expected).narrow(1, 8, 48).abs().max();
  EXPECT_LT(error.item<double>(), 1e-6);
}

}  // namespace
}  // namespace ptyche
