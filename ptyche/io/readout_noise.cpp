#include "ptyche/io/readout_noise.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ptyche/io/pattern_values.h"

namespace ptyche {
namespace {

constexpr std::int64_t kSample = 64;       // patterns that are looked at, fewer of large ones
constexpr std::int64_t kToSeeWraps = 512;  // values just below a power of two are few
constexpr std::int64_t kSamplePixels = std::int64_t{1} << 22, kFewestPatterns = 8;
constexpr double kSomeBelow = 0.0002;  // of the counted values, at least, where they are noise
constexpr double kMostBelow = 0.7;     // at most
constexpr double kInPatterns = 0.9;    // of the patterns that have some
constexpr double kHalfNormal[] = {0.6, 0.9};  // mean over root mean square: .798, 1 for a constant
constexpr double kDarkest = 0.05;             // of the counted pixels
constexpr double kFewestDark = 40;
constexpr double kOfNormal = 1.4826;     // standard deviation over the median distance
constexpr double kLevelIsSteady = 0.5;   // variance over that of as many photons
constexpr double kLevelCounts = 0.02;    // of all values, at least, that a level is
constexpr double kEmptiest = 0.05;       // of the plane of the transform
constexpr double kVeryEmptiest = 0.01;   // where there may be no noise at all
constexpr double kTells = 0.1;           // of the power there that photons leave, at least
constexpr double kAlreadyPhotons = 1.5;  // gain within this factor of 1
constexpr double kLeastGain = 0.5;       // beside a steady level: patterns without noise have none
constexpr double kClearGain = 2;         // without one
constexpr double kBetween = 0.01;        // of the values, at least, between none and half a photon
constexpr double kIsWhite = 0.75;        // a gain over that which rays and leaks are part of
constexpr double kZeros = 0.3;           // of the darkest values, from which on some were cut off
constexpr double kLoud = 20;             // variance of a pixel over that of those beside it
constexpr double kLoudInTheDark = 0.05;  // which is taken for this of the mean one at least
// A pixel of a mean of m photons has m + kRarePhotons sqrt(m) + kFewPhotons at most.
constexpr double kRarePhotons = 6, kFewPhotons = 3;
constexpr double kGainStands = 0.02;  // changes by less
constexpr int kGainRounds = 8;
constexpr double kBelowOneSigma = 0.8413;            // of a normal distribution
constexpr double kOfHalfNormal = 0.5 - 0.5 / M_PI;   // variance of one cut off at its mean
constexpr double kBrightest = 0.99, kStandsOut = 6;  // share; standard deviations of a pixel's mean
constexpr double kAsPhotons[] = {0.7, 1.4};          // of a level, variance over it
constexpr double kAsCounts[] = {0.5, 4};             // what a photon counts
constexpr std::int64_t kLeastSide = 16;
constexpr std::int64_t kBatch = 64;

/// The light of each pattern in counted pixels, (n) float64.
at::Tensor light_of(const at::Tensor& patterns, const at::Tensor& mask) {
  const at::Tensor hidden = mask.logical_not();
  std::vector<at::Tensor> sums;
  for (std::int64_t first = 0; first < patterns.size(0); first += kBatch)
    sums.push_back(patterns.slice(0, first, first + kBatch)
                       .to(at::kDouble)
                       .masked_fill(hidden, 0)
                       .sum({1, 2}));
  return at::cat(sums);
}

/// Evenly spread patterns, about `wanted`: those of them that have light, or all such where most of
/// these have none.
at::Tensor spread_patterns(const at::Tensor& patterns, const at::Tensor& mask,
                           std::int64_t wanted) {
  const auto every = [&](std::int64_t n) { return std::max<std::int64_t>(n / wanted, 1); };
  const at::Tensor some = patterns.slice(0, 0, {}, every(patterns.size(0)));
  const at::Tensor sums = light_of(some, mask);
  if (sums.gt(kDarkBelow * usual_sum(sums)).all().item<bool>()) return some;
  const at::Tensor all = light_of(patterns, mask);
  const at::Tensor lit = at::nonzero(all.gt(kDarkBelow * usual_sum(all))).flatten();
  if (lit.size(0) < kFewestPatterns) return some;
  return patterns.index_select(0, lit.slice(0, 0, {}, every(lit.size(0))));
}

/// Evenly spread patterns with light, about `most`, fewer of large ones: (m, rows, cols) of `type`,
/// hidden pixels 0.
at::Tensor sample_of(const at::Tensor& patterns, const at::Tensor& mask,
                     std::int64_t most = kSample, at::ScalarType type = at::kDouble) {
  const std::int64_t pixels = std::max<std::int64_t>(mask.numel(), 1);
  const std::int64_t wanted = std::clamp(kSamplePixels / pixels, kFewestPatterns, most);
  return spread_patterns(patterns, mask, wanted).to(type).masked_fill(mask.logical_not(), 0);
}

double quantile_of(const at::Tensor& values, double share) {
  const at::Tensor sorted = std::get<0>(values.flatten().sort());
  const auto at = static_cast<std::int64_t>(share * static_cast<double>(sorted.numel() - 1));
  return sorted[at].item<double>();
}

/// Root mean square of what lies below zero, if it is noise.
std::optional<double> noise_below_zero(const at::Tensor& sample, const at::Tensor& mask) {
  const at::Tensor below = sample.lt(0);
  const double share = below.sum().item<double>() /
                       (mask.sum().item<double>() * static_cast<double>(sample.size(0)));
  const double having = below.flatten(1).any(1).to(at::kDouble).mean().item<double>();
  if (share < kSomeBelow || share > kMostBelow || having < kInPatterns) return std::nullopt;
  const at::Tensor values = sample.masked_select(below);
  const double root = values.square().mean().sqrt().item<double>();
  const double shape = -values.mean().item<double>() / root;
  if (shape < kHalfNormal[0] || shape > kHalfNormal[1]) return std::nullopt;
  return root;
}

struct DarkPixels {
  double mean = 0, variance = 0;  // from pattern to pattern
  double level = 0, noise = 0;    // of most values: where a photon fell now and then, as well
  bool cut_off = false;           // what lay below zero is 0
};

/// Half of the patterns point them out, the others measure: else noise that is low by chance would.
std::optional<DarkPixels> darkest(const at::Tensor& sample, const at::Tensor& mask) {
  const bool few = mask.sum().item<double>() * kDarkest < kFewestDark;
  if (few || sample.size(0) < kFewestPatterns) return std::nullopt;
  const at::Tensor means = sample.slice(0, 0, {}, 2).mean(0).masked_select(mask);
  const at::Tensor places =
      at::nonzero(mask.flatten()).flatten().masked_select(means.le(quantile_of(means, kDarkest)));
  const at::Tensor values = sample.slice(0, 1, {}, 2).flatten(1).index_select(1, places);
  DarkPixels dark{values.mean().item<double>(), values.var(0).mean().item<double>(),
                  quantile_of(values, 0.5)};
  dark.cut_off = values.eq(0).to(at::kDouble).mean().item<double>() > kZeros;
  if (dark.cut_off) dark.level = 0;
  dark.noise = dark.cut_off ? quantile_of(values, kBelowOneSigma)
                            : kOfNormal * quantile_of((values - dark.level).abs(), 0.5);
  return dark;
}

at::Tensor hann(std::int64_t length) {
  return at::hann_window(length, /*periodic=*/false, at::kDouble);
}

/// Mean over 5 x 5 points of a plane whose ends meet.
at::Tensor smoothed(const at::Tensor& plane) {
  const at::Tensor wide = at::pad(plane.unsqueeze(0).unsqueeze(0), {2, 2, 2, 2}, "circular");
  return at::avg_pool2d(wide, {5, 5}, {1, 1})[0][0];
}

/// Where the power of the transforms is least, (rows, cols) bool.
at::Tensor emptiest(const at::Tensor& power, double share) {
  const at::Tensor plane = smoothed(power.mean(0));
  return plane.le(quantile_of(plane, share));
}

/// Of every pattern the mean power at these points, (m).
at::Tensor power_at(const at::Tensor& power, const at::Tensor& points) {
  return power.flatten(1).index_select(1, at::nonzero(points.flatten()).flatten()).mean(1);
}

/// The gain by which photon noise, beside `variance` of each pixel, explains the emptiest part of
/// the transforms' power, which half of the patterns point out and the others measure; the median
/// of all patterns, for cosmic rays have power everywhere. A window keeps what ends at the
/// detector's rim out of it, hot pixels go with the mean.
double gain_of(const at::Tensor& sample, const at::Tensor& mask, double level, double variance,
               double share = kEmptiest) {
  const at::Tensor window = hann(mask.size(0)).unsqueeze(1) * hann(mask.size(1)) * mask;
  const auto count = static_cast<double>(sample.size(0));
  const at::Tensor power =
      at::fft_fft2((sample - sample.mean(0)) * window).abs().square() * (count / (count - 1));
  const at::Tensor even = power.slice(0, 0, {}, 2), odd = power.slice(0, 1, {}, 2);
  const at::Tensor weights = window.square();
  const at::Tensor light = ((sample - level) * weights).sum({1, 2});
  const at::Tensor left = at::empty({sample.size(0)}, at::kDouble);
  left.slice(0, 0, {}, 2).copy_(power_at(even, emptiest(odd, share)));
  left.slice(0, 1, {}, 2).copy_(power_at(odd, emptiest(even, share)));
  const at::Tensor of_photons = left - variance * weights.sum();
  const bool tells = quantile_of(of_photons / left, 0.5) > kTells;
  return tells ? quantile_of(of_photons / light.clamp_min(1e-300), 0.5) : 0;
}

/// Pixels that vary far more than those beside them, as they do that blink, at their means.
at::Tensor without_loud_pixels(const at::Tensor& sample) {
  const at::Tensor variance = sample.var(0, false);
  const at::Tensor wide = at::replication_pad2d(variance.unsqueeze(0), {2, 2, 2, 2})[0];
  const at::Tensor beside = std::get<0>(wide.unfold(0, 5, 1).unfold(1, 5, 1).flatten(2).median(2))
                                .clamp_min(kLoudInTheDark * variance.mean().item<double>());
  return at::where(variance > kLoud * beside, sample.mean(0), sample);
}

/// The gain with single bright pixels no brighter than photons of that gain could make them.
double gain_without_rays(const at::Tensor& sample, const at::Tensor& mask, double share) {
  const at::Tensor quiet = without_loud_pixels(sample);
  double gain = gain_of(quiet, mask, 0, 0, share);
  for (int round = 0; round < kGainRounds && gain > 0; ++round) {
    const at::Tensor photons = quiet.mean(0).clamp_min(0) / gain;
    const at::Tensor most = gain * (photons + kRarePhotons * photons.sqrt() + kFewPhotons);
    const double next = gain_of(at::minimum(quiet, most), mask, 0, 0, share);
    const bool stands = std::abs(next - gain) < kGainStands * gain;
    gain = next;
    if (stands) break;
  }
  return gain;
}

/// A gain above kClearGain that neither bright pixels nor the leak of bright light make: these have
/// no white power. 0 for none.
double clear_gain(const at::Tensor& sample, const at::Tensor& mask) {
  const double plain = gain_of(sample, mask, 0, 0);
  if (plain < kClearGain) return 0;
  const double without = gain_without_rays(sample, mask, kEmptiest);
  if (without < kClearGain) return 0;
  const bool rays = without < kIsWhite * plain;
  const double narrow = rays ? gain_without_rays(sample, mask, kVeryEmptiest)
                             : gain_of(sample, mask, 0, 0, kVeryEmptiest);
  const double gain = rays ? without : plain;
  return narrow > kIsWhite * gain ? gain : 0;
}

/// Whether the darkest pixels stand at a level at all, of any kind, and light above it.
bool stands_above_zero(const at::Tensor& sample, const at::Tensor& mask, const DarkPixels& dark) {
  const at::Tensor mean = sample.mean(0).masked_select(mask);
  const double noise = std::sqrt(dark.variance / static_cast<double>(sample.size(0)));
  return dark.mean > kLevelCounts * mean.mean().item<double>() &&
         quantile_of(mean, kBrightest) > dark.mean + kStandsOut * noise;
}

/// Whether most values vary as much as counts of photons would, whatever cosmic rays make of a
/// gain; where many are 0, that does not tell.
bool are_counts(const DarkPixels& dark) {
  if (dark.cut_off) return false;
  const double spread = dark.noise * dark.noise;
  return spread > kAsPhotons[0] * dark.level && spread < kAsPhotons[1] * dark.level;
}

/// Whether values lie between none and half a photon, as they do not where counts were multiplied.
bool fills_gaps(const at::Tensor& sample, const at::Tensor& mask, double gain) {
  const at::Tensor between = sample.gt(0).logical_and_(sample.lt(gain / 2));
  return between.sum().item<double>() >
         kBetween * mask.sum().item<double>() * static_cast<double>(sample.size(0));
}

/// Of values below zero, which are its noise.
std::optional<ReadoutNoise> noise_about_zero(const at::Tensor& sample, const at::Tensor& mask,
                                             const DarkPixels& dark) {
  const std::optional<double> noise = noise_below_zero(sample, mask);
  if (!noise) return std::nullopt;
  const double level = std::min(dark.level, 0.0);
  return ReadoutNoise{level, *noise, gain_of(sample, mask, level, *noise * *noise)};
}

/// Of values above zero that vary less about it than photons would.
std::optional<ReadoutNoise> steady_level(const at::Tensor& sample, const at::Tensor& mask,
                                         const DarkPixels& dark, bool whole) {
  if (!stands_above_zero(sample, mask, dark) || (whole && are_counts(dark))) return std::nullopt;
  const double variance = (dark.cut_off ? kOfHalfNormal : 1) * dark.noise * dark.noise;
  const ReadoutNoise found{dark.level, dark.noise, gain_of(sample, mask, dark.level, variance)};
  const bool steady =
      found.gain > kLeastGain && dark.variance < kLevelIsSteady * found.gain * dark.mean;
  return steady ? std::optional(found) : std::nullopt;
}

/// Of values without a level.
std::optional<ReadoutNoise> gain_alone(const at::Tensor& sample, const at::Tensor& mask,
                                       const DarkPixels& dark) {
  if (are_squares_of_counts(sample)) return std::nullopt;
  const double gain = clear_gain(sample, mask);
  if (gain == 0 || !fills_gaps(sample, mask, gain)) return std::nullopt;
  return ReadoutNoise{0, std::min(dark.noise, gain / 2), gain};
}

}  // namespace

std::optional<ReadoutNoise> readout_noise(const at::Tensor& patterns, const at::Tensor& mask,
                                          bool said_whole) {
  if (std::min(mask.size(0), mask.size(1)) < kLeastSide) return std::nullopt;
  const at::Tensor sample = sample_of(patterns, mask);
  if (!at::isfinite(sample).all().item<bool>()) return std::nullopt;
  const std::optional<DarkPixels> dark = darkest(sample, mask);
  if (!dark) return std::nullopt;
  // Too large for a narrow type in hidden pixels, as squares are, and whole all the same.
  const bool whole = said_whole || sample.eq(sample.round()).all().item<bool>();
  const bool below_zero = sample.lt(0).any().item<bool>();
  if (whole && !below_zero && wrapped_values(sample_of(patterns, mask, kToSeeWraps, at::kFloat)))
    return std::nullopt;
  std::optional<ReadoutNoise> found =
      below_zero ? noise_about_zero(sample, mask, *dark) : steady_level(sample, mask, *dark, whole);
  if (!found && !below_zero) found = gain_alone(sample, mask, *dark);
  if (!found) return std::nullopt;
  if (found->gain < kAlreadyPhotons && found->gain > 1 / kAlreadyPhotons) found->gain = 1;
  if (found->gain <= 0) found->gain = 1;  // the noise hides it
  return found;
}

double photon_gain(const at::Tensor& values, const at::Tensor& mask) {
  const at::Tensor sample = sample_of(values, mask);
  const double total = sample.sum().item<double>() / static_cast<double>(sample.size(0));
  const bool can_tell = std::min(mask.size(0), mask.size(1)) >= kLeastSide &&
                        sample.size(0) >= kFewestPatterns && total > 0;
  const double gain = can_tell ? gain_of(sample, mask, 0, 0, kVeryEmptiest) : 0;
  return std::max(gain, total / kMostCounts);
}

NoiseOf noise_of_fractions(const at::Tensor& values, const at::Tensor& mask) {
  const at::Tensor sample = sample_of(values, mask);
  const double plain = photon_gain(sample, mask), squared = photon_gain(sample.square(), mask);
  const bool nearer = std::abs(std::log(plain)) < std::abs(std::log(squared));
  const double photon = nearer ? plain : squared;
  if (!(photon > kAsCounts[0] && photon < kAsCounts[1])) return NoiseOf::unknown;
  return nearer ? NoiseOf::counts : NoiseOf::roots;
}

at::Tensor photons_of(const at::Tensor& patterns, const at::Tensor& mask,
                      const ReadoutNoise& noise) {
  at::Tensor photons = at::empty(patterns.sizes(), at::kFloat);
  const double spread = noise.noise / noise.gain;
  for (std::int64_t first = 0; first < patterns.size(0); first += kBatch) {
    at::Tensor some = photons.slice(0, first, first + kBatch);
    some.copy_(patterns.slice(0, first, first + kBatch));
    some.sub_(noise.level).div_(noise.gain).add_(spread * spread).round_();
    some.clamp_min_(0).masked_fill_(mask.logical_not(), 0);
  }
  return photons;
}

}  // namespace ptyche
