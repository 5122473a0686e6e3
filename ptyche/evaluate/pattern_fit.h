// How well expected counts describe measured ones, pattern by pattern, and what photon noise alone
// would leave of that.
#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <vector>

namespace ptyche {

/// 2 [n log(n / m) - n + m] of `count` n >= 0 where `mean` m > 0 is expected.
inline double poisson_deviance(double count, double mean) {
  return 2 * ((count > 0 ? count * std::log(count / mean) : 0) - count + mean);
}

/// Expectations of |sqrt m - sqrt n|, of sqrt n and of the deviance for a Poisson count n of mean
/// m.
struct PhotonNoise {
  double amplitude_error = 0, amplitude = 0, deviance = 0;
};

/// By a table, to 1e-3 of each. Of what is no number, or 0 and below: none.
PhotonNoise photon_noise(double mean);

/// Sums over pixels, whose quotients are the scores.
struct FitSums {
  double amplitude_error = 0;  ///< |sqrt I - sqrt n|
  double amplitude = 0;        ///< sqrt n
  double deviance = 0;         ///< poisson_deviance, I at least 0.01 in it
  double photons = 0;          ///< n

  double r_factor() const { return amplitude_error / amplitude; }
  double deviance_per_photon() const { return deviance / photons; }
  FitSums& operator+=(const FitSums& other);
};

struct PatternFit {
  FitSums measured;
  FitSums noise;  ///< what is to be expected of them if the model is right and only noise is left
};

/// Of each pattern, over the pixels of the mask.
///   counts     (k, N, N) real
///   intensity  (k, N, N) float32 or float64 expected counts, or (1, N, N), the same for all
///   mask       (N, N) bool, true = counted; all in the same order (FFT or centred)
///   noise      false: the noise's sums are left 0
/// Throws InvalidInput naming both sizes where they differ.
std::vector<PatternFit> pattern_fits(const at::Tensor& counts, const at::Tensor& intensity,
                                     const at::Tensor& mask, bool noise = true);

}  // namespace ptyche
