#include "ptyche/evaluate/pattern_fit.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

// The table goes from 2^kLowest to 2^kHighest counts, every octave in 2^kStepBits steps: they are
// the first bits of a double.
constexpr int kLowest = -20, kHighest = 12, kStepBits = 6, kFractionBits = 52 - kStepBits;
constexpr std::uint64_t kEntries = std::uint64_t{kHighest - kLowest} << kStepBits;
constexpr std::uint64_t kFirst = std::uint64_t{1023 + kLowest} << kStepBits;
constexpr std::uint64_t kFractionMask = (std::uint64_t{1} << kFractionBits) - 1;

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

std::vector<PhotonNoise> make_table() {
  std::vector<PhotonNoise> table;
  for (std::uint64_t entry = 0; entry <= kEntries; ++entry)
    table.push_back(summed(std::bit_cast<double>((kFirst + entry) << kFractionBits)));
  return table;
}

}  // namespace

PhotonNoise photon_noise(double mean) {
  static const std::vector<PhotonNoise> table = make_table();
  if (!(mean > 0)) return {};
  const auto bits = std::bit_cast<std::uint64_t>(mean);
  const std::uint64_t entry = (bits >> kFractionBits) - kFirst;  // wraps below the table
  if (entry >= kEntries) return mean < 1 ? of_few(mean) : of_many(mean);
  const double share =
      static_cast<double>(bits & kFractionMask) / static_cast<double>(kFractionMask + 1);
  const PhotonNoise &low = table[entry], &high = table[entry + 1];
  const auto between = [share](double a, double b) { return a + share * (b - a); };
  return {between(low.amplitude_error, high.amplitude_error),
          between(low.amplitude, high.amplitude), between(low.deviance, high.deviance)};
}

FitSums& FitSums::operator+=(const FitSums& other) {
  amplitude_error += other.amplitude_error;
  amplitude += other.amplitude;
  deviance += other.deviance;
  photons += other.photons;
  return *this;
}

namespace {

constexpr double kSmallestIntensity = 0.01;  // counts, in the deviance

/// Of whole counts, for most pixels have few: sqrt n, and n log n - n.
struct OfCount {
  double amplitude = 0, own = 0;
};
constexpr std::size_t kTabled = 256;

OfCount of_count(double count) {
  return {std::sqrt(count), (count > 0 ? count * std::log(count) : 0) - count};
}

const std::array<OfCount, kTabled>& count_table() {
  static const std::array<OfCount, kTabled> table = [] {
    std::array<OfCount, kTabled> made;
    for (std::size_t count = 0; count < kTabled; ++count)
      made[count] = of_count(static_cast<double>(count));
    return made;
  }();
  return table;
}

/// The pixels of one pattern one after the other; what they share is looked up once.
class Fitter {
 public:
  Fitter(const bool* counted, std::int64_t pixels, bool noise)
      : counted_(counted), roots_(static_cast<std::size_t>(pixels)), noise_(noise) {}

  PatternFit operator()(const float* counts, const double* intensity) {
    for (std::size_t pixel = 0; pixel < roots_.size(); ++pixel)
      roots_[pixel] = std::sqrt(intensity[pixel]);
    PatternFit fit;
    for (std::size_t pixel = 0; pixel < roots_.size(); ++pixel) {
      if (!counted_[pixel]) continue;
      add_measured(counts[pixel], intensity[pixel], roots_[pixel], fit.measured);
      if (noise_) add_noise(intensity[pixel], fit.noise);
    }
    return fit;
  }

 private:
  void add_measured(double count, double intensity, double root, FitSums& sums) const {
    const std::size_t whole = count < kTabled ? static_cast<std::size_t>(count) : kTabled - 1;
    const OfCount known = static_cast<double>(whole) == count ? table_[whole] : of_count(count);
    const double clipped = std::max(intensity, kSmallestIntensity);
    sums.amplitude_error += std::abs(root - known.amplitude);
    sums.amplitude += known.amplitude;
    // 2 (n log(n / I) - n + I)
    sums.deviance += 2 * (known.own + clipped - (count > 0 ? count * std::log(clipped) : 0));
    sums.photons += count;
  }

  static void add_noise(double intensity, FitSums& sums) {
    const PhotonNoise noise = photon_noise(intensity);
    sums.amplitude_error += noise.amplitude_error;
    sums.amplitude += noise.amplitude;
    sums.deviance += noise.deviance;
    // The deviance from another mean is that from one's own and that between the two.
    if (intensity < kSmallestIntensity)
      sums.deviance += poisson_deviance(intensity, kSmallestIntensity);
    sums.photons += intensity;
  }

  const std::array<OfCount, kTabled>& table_ = count_table();
  const bool* counted_;
  std::vector<double> roots_;
  bool noise_;
};

}  // namespace

std::vector<PatternFit> pattern_fits(const at::Tensor& counts, const at::Tensor& intensity,
                                     const at::Tensor& mask, bool noise) {
  const std::int64_t patterns = counts.size(0), pixels = mask.numel();
  const bool own = intensity.size(0) == patterns;
  require(counts.numel() == patterns * pixels && intensity.numel() == (own ? patterns : 1) * pixels,
          "fit: expected {} x {} counts and intensities, found {} and {}", patterns, pixels,
          counts.numel(), intensity.numel());
  const at::Tensor measured = counts.to(at::kFloat).contiguous(),
                   expected = intensity.to(at::kDouble).contiguous(), chosen = mask.contiguous();
  const float* const count = measured.const_data_ptr<float>();
  const double* const mean = expected.const_data_ptr<double>();
  const bool* const counted = chosen.const_data_ptr<bool>();
  std::vector<PatternFit> fits(static_cast<std::size_t>(patterns));
  at::parallel_for(0, patterns, 1, [&](std::int64_t begin, std::int64_t end) {
    Fitter fit(counted, pixels, noise);
    for (std::int64_t k = begin; k < end; ++k)
      fits[static_cast<std::size_t>(k)] = fit(count + k * pixels, mean + (own ? k * pixels : 0));
  });
  return fits;
}

}  // namespace ptyche
