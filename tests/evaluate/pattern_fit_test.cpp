#include "ptyche/evaluate/pattern_fit.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace ptyche
