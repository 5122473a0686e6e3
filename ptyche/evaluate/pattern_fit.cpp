#include "ptyche/evaluate/pattern_fit.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/engine/cpu/kernels.h"

namespace ptyche {
namespace {

// The table goes from 2^kLowest to 2^kHighest counts, every octave in 2^kStepBits steps: they are
// the first bits of a float.
constexpr int kLowest = -20, kHighest = 24, kStepBits = 6, kFractionBits = 23 - kStepBits;
constexpr std::uint32_t kEntries = std::uint32_t{kHighest - kLowest} << kStepBits;
constexpr std::uint32_t kFirst = std::uint32_t{127 + kLowest} << kStepBits;
constexpr std::uint32_t kFractionMask = (std::uint32_t{1} << kFractionBits) - 1;
// Counts from which on the noise is that of a Gaussian; the table goes on, for a look at it costs
// less than the formula.
constexpr double kMany = 4096;

/// Summed over all counts but those of a probability below 1e-16 or so.
PhotonNoise summed(double mean) {
  const double root = std::sqrt(mean);
  const double first = std::max(0.0, std::floor(mean - 9 * root));
  const double last = std::ceil(mean + 9 * root + 20);
  double probability = std::exp(first * std::log(mean) - mean - std::lgamma(first + 1));
  PhotonNoise noise;
  for (double count = first; count <= last; ++count) {
    noise.amplitude_error += probability * std::abs(std::sqrt(count) - root);
    noise.amplitude += probability * std::sqrt(count);
    noise.deviance += probability * poisson_deviance(count, mean);
    probability *= mean / (count + 1);
  }
  return noise;
}

/// sqrt n is a Gaussian of variance 1/4 about sqrt m - 1 / (8 sqrt m), and the deviance that of one
/// degree of freedom.
PhotonNoise of_many(double mean) {
  const double root = std::sqrt(mean);
  return {0.5 * std::sqrt(2 / std::numbers::pi), root - 1 / (8 * root), 1 + 1 / (6 * mean)};
}

/// Of so few that there are never two.
PhotonNoise of_few(double mean) {
  return {std::sqrt(mean) + mean, mean, -2 * mean * std::log(mean)};
}

PhotonNoise of_mean(double mean) {
  if (mean >= kMany) return of_many(mean);
  return mean < std::ldexp(1, kLowest) ? of_few(mean) : summed(mean);
}

constexpr double kSmallestIntensity = 0.01;  // counts, in the deviance of a pattern

/// Four numbers at once: amplitude error, amplitude, deviance, and what kSmallestIntensity adds to
/// that: the deviance from another mean is that from one's own and that between the two.
typedef float Four __attribute__((vector_size(16)));

Four numbers_of_mean(double mean) {
  const PhotonNoise noise = mean > 0 ? of_mean(mean) : PhotonNoise{};
  const double beyond =
      mean < kSmallestIntensity ? poisson_deviance(std::max(mean, 0.0), kSmallestIntensity) : 0;
  return Four{static_cast<float>(noise.amplitude_error), static_cast<float>(noise.amplitude),
              static_cast<float>(noise.deviance), static_cast<float>(beyond)};
}

const std::array<Four, kEntries + 1>& noise_table() {
  static const auto table = [] {
    std::array<Four, kEntries + 1> made;
    for (std::uint32_t entry = 0; entry <= kEntries; ++entry)
      made[entry] = numbers_of_mean(std::bit_cast<float>((kFirst + entry) << kFractionBits));
    return made;
  }();
  return table;
}

Four noise_of(const std::array<Four, kEntries + 1>& table, float mean) {
  const auto bits = std::bit_cast<std::uint32_t>(mean);
  const std::uint32_t entry = (bits >> kFractionBits) - kFirst;  // wraps below the table
  if (entry >= kEntries) return numbers_of_mean(mean);
  const float share =
      static_cast<float>(bits & kFractionMask) * (1.0F / static_cast<float>(kFractionMask + 1));
  return table[entry] + share * (table[entry + 1] - table[entry]);
}

}  // namespace

PhotonNoise photon_noise(double mean) {
  const Four noise = noise_of(noise_table(), static_cast<float>(mean));
  return {noise[0], noise[1], noise[2]};
}

FitSums& FitSums::operator+=(const FitSums& other) {
  amplitude_error += other.amplitude_error;
  amplitude += other.amplitude;
  deviance += other.deviance;
  photons += other.photons;
  return *this;
}

namespace {

template <class T>
FitSums measured_sums(const T* counts, const T* expected, const at::Tensor& mask) {
  std::array<double, 4> sums{};
  cpu::kernels<T>().fit_sums(counts, expected, mask.const_data_ptr<T>(), mask.numel(),
                             static_cast<T>(kSmallestIntensity), sums.data());
  return {sums[0], sums[1], sums[2], sums[3]};
}

/// What is to be expected of the sums, by the pixels of the mask.
template <class T>
FitSums noise_sums(const T* expected, const at::Tensor& mask) {
  constexpr std::int64_t kRun = 512;  // pixels whose sums are float
  const auto& table = noise_table();
  const T* const counted = mask.const_data_ptr<T>();
  FitSums all;
  for (std::int64_t run = 0; run < mask.numel(); run += kRun) {
    const std::int64_t end = std::min(mask.numel(), run + kRun);
    Four sums{};
    float photons = 0;
    for (std::int64_t pixel = run; pixel < end; ++pixel) {
      if (counted[pixel] == 0) continue;
      const auto mean = static_cast<float>(expected[pixel]);
      sums += noise_of(table, mean);
      photons += mean;
    }
    all += {sums[0], sums[1], static_cast<double>(sums[2]) + sums[3], photons};
  }
  return all;
}

/// Of counts and expected ones of the mask's type, numbers 0 and 1.
template <class T>
std::vector<PatternFit> fits_of(const at::Tensor& counts, const at::Tensor& intensity,
                                const at::Tensor& mask, bool noise) {
  const std::int64_t patterns = counts.size(0), pixels = mask.numel();
  const std::int64_t apart = intensity.size(0) == patterns ? pixels : 0;
  const T *count = counts.const_data_ptr<T>(), *mean = intensity.const_data_ptr<T>();
  std::vector<PatternFit> fits(static_cast<std::size_t>(patterns));
  at::parallel_for(0, patterns, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      PatternFit& fit = fits[static_cast<std::size_t>(k)];
      fit.measured = measured_sums(count + k * pixels, mean + k * apart, mask);
      if (noise) fit.noise = noise_sums(mean + k * apart, mask);
    }
  });
  return fits;
}

}  // namespace

std::vector<PatternFit> pattern_fits(const at::Tensor& counts, const at::Tensor& intensity,
                                     const at::Tensor& mask, bool noise) {
  const std::int64_t patterns = counts.size(0), pixels = mask.numel();
  const std::int64_t expected = intensity.size(0) == patterns ? patterns : 1;
  require(counts.numel() == patterns * pixels && intensity.numel() == expected * pixels,
          "fit: expected {} x {} counts and intensities, found {} and {}", patterns, pixels,
          counts.numel(), intensity.numel());
  const at::ScalarType type = intensity.scalar_type();
  const auto in_type = [&](const at::Tensor& array) { return array.to(type).contiguous(); };
  const auto fit = type == at::kFloat ? &fits_of<float> : &fits_of<double>;
  return fit(in_type(counts), intensity.contiguous(), in_type(mask), noise);
}

}  // namespace ptyche
