#include "ptyche/prepare/shadow_defocus.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <utility>

#include "ptyche/core/parallel.h"
#include "ptyche/data/array.h"

namespace ptyche {
namespace {

constexpr double kLitShare = 0.1;  // of the aperture's bright part
constexpr double kBlurReach = 3;   // standard deviations
constexpr std::size_t kMostPairs = 800;
constexpr std::int64_t kPairsAtOnce = 50;
constexpr double kNearest = 0.5, kFarthest = 2.3;  // steps between the positions of a pair
constexpr std::int64_t kMovesEachSign = 80;
constexpr double kSmallestMove = 0.15, kLargestMove = 15;  // detector px per object px
constexpr double kWidestSpot = 0.38;  // radius of the light on the sample over N
constexpr double kSecondOverFirst = 0.15;
constexpr double kLeastOverlap = 0.05;  // of the aperture with itself, moved

struct Neighbours {
  at::Tensor first, second;  // (k) int64
};

/// Neighbours, neither side by side nor far apart, spread over the scan.
Neighbours neighbours(const at::Tensor& positions) {
  const std::int64_t n = positions.size(0);
  const at::Tensor distance = at::cdist(positions, positions);
  const at::Tensor sorted = std::get<0>(distance.sort(1));
  const double step = sorted.select(1, std::min<std::int64_t>(2, n - 1)).mean().item<double>();
  const at::Tensor near = distance.lt(kFarthest * step).logical_and(distance.gt(kNearest * step));
  const at::Tensor all = at::nonzero(near.triu(1));
  std::vector<std::int64_t> order(static_cast<std::size_t>(all.size(0)));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  order.resize(std::min(order.size(), kMostPairs));
  const at::Tensor chosen = all.index_select(0, at::tensor(order, at::kLong));
  return {chosen.select(1, 0).contiguous(), chosen.select(1, 1).contiguous()};
}

/// kappa: detector pixels per object pixel, both signs.
std::vector<double> moves() {
  std::vector<double> all;
  for (std::int64_t i = 0; i < kMovesEachSign; ++i)
    all.push_back(kSmallestMove * std::pow(kLargestMove / kSmallestMove,
                                           static_cast<double>(i) / (kMovesEachSign - 1)));
  std::vector<double> both(all.rbegin(), all.rend());
  for (double& each : both) each = -each;
  both.insert(both.end(), all.begin(), all.end());
  return both;
}

Window bounds_of(const at::Tensor& lit) {
  const at::Tensor rows = at::nonzero(lit.any(1)), cols = at::nonzero(lit.any(0));
  return {rows.min().item<std::int64_t>(), rows.max().item<std::int64_t>() + 1,
          cols.min().item<std::int64_t>(), cols.max().item<std::int64_t>() + 1};
}

/// Summed correlation at every move and the pixels that overlapped there, of some of the pairs.
struct Sums {
  at::Tensor correlation, pixels;  // (moves) float64
};

Sums correlate(const at::Tensor& spectra, const at::Tensor& area, const Neighbours& pairs,
               const at::Tensor& positions, const at::Tensor& kappa, double lit, bool odd) {
  const std::int64_t size = area.size(0), count = pairs.first.size(0);
  at::Tensor c = at::fft_irfft2(
      at::conj(spectra.index_select(0, pairs.first)) * spectra.index_select(0, pairs.second),
      std::vector<std::int64_t>{size, size});
  if (odd) c = 0.5 * (c - c.flip({1, 2}).roll({1, 1}, {1, 2}));
  const at::Tensor apart =
      positions.index_select(0, pairs.second) - positions.index_select(0, pairs.first);
  const at::Tensor move = kappa.view({-1, 1, 1}) * apart.unsqueeze(0);  // (moves, pairs, 2)
  const at::Tensor inside = move.abs().amax(2).lt(0.5 * static_cast<double>(size) - 1);
  const at::Tensor place = at::remainder(move.round(), size).to(at::kLong);
  const at::Tensor flat = place.select(2, 0) * size + place.select(2, 1);  // (moves, pairs)
  const at::Tensor overlap = area.reshape(-1).index({flat});
  const at::Tensor counted = inside.logical_and(overlap.gt(kLeastOverlap * lit)).to(at::kDouble);
  const at::Tensor values = c.reshape({count, -1}).gather(1, flat.t()).t().to(at::kDouble);
  return {(values * counted).sum(1), (overlap * counted).sum(1)};
}

/// Standard errors by which each move is spoken for: (moves) float64.
at::Tensor strengths(const at::Tensor& counts, const at::Tensor& positions, const at::Tensor& mean,
                     const Aperture& aperture, const at::Tensor& kappa, bool odd) {
  const Window box = bounds_of(aperture.lit);
  const at::Tensor lit = cut(aperture.lit, box);
  // Room, so that nothing wraps around.
  const std::int64_t size = 2 * ((std::max(box.rows(), box.cols()) + 7) / 8 * 8);
  const std::vector<std::int64_t> shape{size, size};
  const at::Tensor change = cut(shadow_details(counts, mean, aperture), box);
  at::Tensor spectra = at::empty({counts.size(0), size, size / 2 + 1}, at::kComplexFloat);
  const std::int64_t n = counts.size(0);
  side_by_side((n + kPairsAtOnce - 1) / kPairsAtOnce, [&](std::int64_t part) {
    const at::Tensor own = change.slice(0, part * kPairsAtOnce, (part + 1) * kPairsAtOnce);
    spectra.slice(0, part * kPairsAtOnce, (part + 1) * kPairsAtOnce)
        .copy_(at::fft_rfft2(own, shape));
  });
  const at::Tensor spectrum = at::fft_rfft2(lit.to(at::kFloat), shape);
  const at::Tensor area = at::fft_irfft2(spectrum * at::conj(spectrum), shape).to(at::kDouble);
  const Neighbours pairs = neighbours(positions);
  const std::int64_t count = pairs.first.size(0);
  const std::int64_t parts = (count + kPairsAtOnce - 1) / kPairsAtOnce;
  std::vector<Sums> sums(static_cast<std::size_t>(parts));
  const double pixels = static_cast<double>(lit.sum().item<std::int64_t>());
  side_by_side(parts, [&](std::int64_t part) {
    const auto some = [&](const at::Tensor& all) {
      return all.slice(0, part * kPairsAtOnce, (part + 1) * kPairsAtOnce);
    };
    sums[static_cast<std::size_t>(part)] = correlate(
        spectra, area, {some(pairs.first), some(pairs.second)}, positions, kappa, pixels, odd);
  });
  at::Tensor total = at::zeros_like(kappa), seen = at::zeros_like(kappa);
  for (const Sums& each : sums) {
    total += each.correlation;
    seen += each.pixels;
  }
  // The odd part has half the variance of the whole.
  return total / (seen + pixels).sqrt() * (odd ? std::numbers::sqrt2 : 1.0);
}

}  // namespace

Aperture aperture_of(const at::Tensor& mean, const at::Tensor& mask) {
  const at::Tensor counted = mean * mask, smooth = gaussian_filter(counted, 0.7);
  const at::Tensor bright = smooth.masked_select(smooth.gt(kLitShare * smooth.max()));
  const double level = at::quantile(bright, 0.8).item<double>();
  Aperture found{.lit = smooth.gt(kLitShare * level).logical_and(mask)};
  found.radius_px =
      std::sqrt(static_cast<double>(found.lit.sum().item<std::int64_t>()) / std::numbers::pi);
  const at::Tensor light = counted * found.lit, axis = at::arange(mean.size(0), at::kDouble);
  const double sum = light.sum().item<double>();
  found.row = (light.sum(1) * axis).sum().item<double>() / sum;
  found.col = (light.sum(0) * axis).sum().item<double>() / sum;
  return found;
}

at::Tensor shadow_details(const at::Tensor& counts, const at::Tensor& mean,
                          const Aperture& aperture) {
  const Window box = bounds_of(aperture.lit);
  const double sigma = std::max(1.0, 0.5 * aperture.radius_px);
  const at::Tensor lit = cut(aperture.lit, box), usual = cut(mean, box);
  const at::Tensor inside = lit.to(at::kDouble);
  const at::Tensor spread = gaussian_filter(inside, sigma, kBlurReach) + 1e-9;
  const at::Tensor unit = at::where(lit, usual.clamp_min(1e-9).rsqrt(), at::zeros_like(usual));
  at::Tensor found = at::zeros(counts.sizes(), at::kFloat);
  side_by_side(counts.size(0), [&](std::int64_t i) {
    at::Tensor change = (cut(counts[i], box).to(at::kDouble) - usual) * unit;
    change = (change - gaussian_filter(change, sigma, kBlurReach) / spread) * inside;
    const double deviation = change.square().sum().item<double>() / inside.sum().item<double>();
    cut(found[i], box).copy_(change / (std::sqrt(deviation) + 1e-12));
  });
  return found;
}

std::vector<ShadowPeak> defoci_from_shadows(const at::Tensor& counts, const at::Tensor& positions,
                                            const at::Tensor& mean, const Aperture& aperture,
                                            bool odd, std::size_t most) {
  if (aperture.radius_px < kLeastAperture_px || counts.size(0) < 3) return {};
  const std::vector<double> kappa = moves();
  const auto size = static_cast<double>(counts.size(1));
  const std::vector<double> z =
      to_vector(strengths(counts, positions, mean, aperture, at::tensor(kappa, at::kDouble), odd));
  std::vector<ShadowPeak> peaks, found;
  for (std::size_t i = 1; i + 1 < z.size(); ++i)
    if (z[i] >= std::max({z[i - 1], z[i + 1], kLeastStrength}) && kappa[i - 1] * kappa[i + 1] > 0 &&
        aperture.radius_px / std::abs(kappa[i]) < kWidestSpot * size)
      peaks.push_back({std::numbers::pi * size / (4 * kappa[i]), z[i]});
  std::ranges::sort(
      peaks, [](const ShadowPeak& a, const ShadowPeak& b) { return a.strength > b.strength; });
  for (const ShadowPeak& peak : peaks) {
    const bool known = std::ranges::any_of(found, [&](const ShadowPeak& other) {
      const double ratio = peak.defocus / other.defocus;
      return ratio > 0.75 && ratio < 1.34;
    });
    const bool weak = !found.empty() && peak.strength < kSecondOverFirst * found[0].strength;
    if (!known && !weak && found.size() < most) found.push_back(peak);
  }
  return found;
}

}  // namespace ptyche
