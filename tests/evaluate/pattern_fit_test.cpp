#include "ptyche/evaluate/pattern_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ptyche {
namespace {

/// Summed count by count from 0, in logarithms: slow and plain.
PhotonNoise plain_sum(double mean) {
  PhotonNoise noise;
  const double last = mean + 12 * std::sqrt(mean) + 30;
  for (double n = 0; n <= last; ++n) {
    const double probability = std::exp(n * std::log(mean) - mean - std::lgamma(n + 1));
    noise.amplitude_error += probability * std::abs(std::sqrt(n) - std::sqrt(mean));
    noise.amplitude += probability * std::sqrt(n);
    noise.deviance += probability * poisson_deviance(n, mean);
  }
  return noise;
}

TEST(PhotonNoise, IsTheExpectationOverPoissonCounts) {
  for (const double mean :
       {1e-8, 1e-7, 3.3e-6, 1e-3, 0.017, 0.31, 1.0, 1.7, 5.2, 38.9, 1001.7, 4095.0, 4097.0, 2e4}) {
    const PhotonNoise noise = photon_noise(mean), expected = plain_sum(mean);
    EXPECT_NEAR(noise.amplitude_error / expected.amplitude_error, 1, 1e-3) << mean;
    EXPECT_NEAR(noise.amplitude / expected.amplitude, 1, 1e-3) << mean;
    EXPECT_NEAR(noise.deviance / expected.deviance, 1, mean < 1e-5 ? 0.1 : 1e-3) << mean;
  }
}

TEST(PhotonNoise, OfNoLightIsNone) {
  for (const double mean : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(photon_noise(mean).amplitude_error, 0);
    EXPECT_EQ(photon_noise(mean).deviance, 0);
  }
}

TEST(PhotonNoise, OfManyPhotonsIsThatOfOneDegreeOfFreedom) {
  EXPECT_NEAR(photon_noise(1e9).deviance, 1, 1e-8);
  EXPECT_NEAR(photon_noise(1e9).amplitude_error, 0.398942, 1e-6);
}

/// As pattern_fits, pixel by pixel in double precision.
FitSums plain_fit(const at::Tensor& counts, const at::Tensor& intensity, const at::Tensor& mask) {
  const at::Tensor n = counts.flatten().to(at::kDouble), m = intensity.flatten().to(at::kDouble);
  const at::Tensor counted = mask.flatten();
  FitSums sums;
  for (std::int64_t i = 0; i < n.numel(); ++i) {
    if (!counted[i].item<bool>()) continue;
    const double count = n[i].item<double>(), mean = m[i].item<double>();
    sums += {std::abs(std::sqrt(mean) - std::sqrt(count)), std::sqrt(count),
             poisson_deviance(count, std::max(mean, 0.01)), count};
  }
  return sums;
}

void expect_close(const FitSums& found, const FitSums& expected, double within) {
  EXPECT_NEAR(found.amplitude_error / expected.amplitude_error, 1, within);
  EXPECT_NEAR(found.amplitude / expected.amplitude, 1, within);
  EXPECT_NEAR(found.deviance / expected.deviance, 1, within);
  EXPECT_NEAR(found.photons / expected.photons, 1, within);
}

TEST(PatternFits, AreTheFormulasInEitherPrecisionForAnySizeAndMask) {
  at::manual_seed(7);
  for (const std::int64_t size : {6, 16, 30, 70}) {
    const at::Tensor intensity = at::pow(10.0, 8 * at::rand({2, size, size}, at::kDouble) - 4);
    const at::Tensor counts = at::poisson(intensity), mask = at::rand({size, size}).gt(0.2);
    for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
      const auto fits = pattern_fits(counts, intensity.to(type), mask);
      for (std::int64_t k = 0; k < 2; ++k)
        expect_close(fits[static_cast<std::size_t>(k)].measured,
                     plain_fit(counts[k], intensity[k], mask), type == at::kFloat ? 1e-4 : 1e-12);
    }
  }
}

TEST(PatternFits, AreRightWhereCountsAndExpectedOnesAreFarApartOrNearlyEqual) {
  const at::Tensor mask = at::ones({4, 4}, at::kBool);
  for (const double count : {0.0, 1.0, 3e3, 1e6})
    for (const double mean : {0.0, 1e-6, 0.3, 2.9e3, 1.0001e6}) {
      const at::Tensor counts = at::full({1, 4, 4}, count);
      const at::Tensor means = at::full({1, 4, 4}, mean);
      const FitSums found = pattern_fits(counts, means, mask)[0].measured;
      const FitSums expected = plain_fit(counts[0], means[0], mask);
      EXPECT_NEAR(found.deviance, expected.deviance, 1e-4 * expected.deviance) << count << mean;
      EXPECT_NEAR(found.amplitude_error, expected.amplitude_error,
                  1e-5 * std::max(expected.amplitude_error, expected.amplitude));
    }
}

TEST(PatternFits, OfAnImageThatForetellsNaNAreNaNWhereThePixelCounts) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    at::Tensor intensity = at::ones({1, 4, 4}, type), mask = at::ones({4, 4}, at::kBool);
    intensity[0][1][2] = std::numeric_limits<double>::quiet_NaN();
    const PatternFit counted = pattern_fits(at::ones({1, 4, 4}), intensity, mask)[0];
    EXPECT_TRUE(std::isnan(counted.measured.deviance));
    EXPECT_TRUE(std::isnan(counted.measured.amplitude_error));
    mask[1][2] = false;
    const PatternFit hidden = pattern_fits(at::ones({1, 4, 4}), intensity, mask)[0];
    EXPECT_NEAR(hidden.measured.deviance, 0, 1e-12);
    EXPECT_FALSE(std::isnan(hidden.noise.deviance));
  }
}

TEST(PatternFits, OfOneGuessForAllPatternsAreThoseOfItsCopies) {
  const at::Tensor counts = at::arange(48).view({3, 4, 4}), mask = at::ones({4, 4}, at::kBool);
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor guess = at::linspace(0, 30, 16, type).view({1, 4, 4});
    const auto once = pattern_fits(counts, guess, mask);
    const auto copied = pattern_fits(counts, guess.expand({3, 4, 4}), mask);
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(once[k].measured.deviance, copied[k].measured.deviance);
      EXPECT_EQ(once[k].noise.amplitude_error, copied[k].noise.amplitude_error);
    }
  }
}

TEST(PatternFits, NoiseIsTheSumOverThePixelsOfTheMaskOfWhatOneLeaves) {
  const at::Tensor intensity = at::tensor({1e-4f, 0.02f, 3.0f, 5000.0f}).view({1, 2, 2});
  const at::Tensor mask = at::tensor({1.0f, 1.0f, 0.0f, 1.0f}).gt(0).view({2, 2});
  const FitSums found = pattern_fits(at::ones({1, 2, 2}), intensity, mask)[0].noise;
  double deviance = poisson_deviance(1e-4, 0.01), amplitude = 0;
  for (const double mean : {1e-4, 0.02, 5000.0}) {
    deviance += photon_noise(mean).deviance;
    amplitude += photon_noise(mean).amplitude;
  }
  EXPECT_NEAR(found.deviance / deviance, 1, 1e-3);
  EXPECT_NEAR(found.amplitude / amplitude, 1, 1e-3);
  EXPECT_NEAR(found.photons, 5000.0201, 1e-2);
}

}  // namespace
}  // namespace ptyche
