#include "ptyche/evaluate/fourier_ring_correlation.h"

#include <algorithm>
#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/data/array.h"

namespace ptyche {
namespace {

constexpr std::size_t kFirstRing = 4;

/// sin^2 fade of both ends over an eighth of the length, 1 between.
at::Tensor fade(std::int64_t size) {
  const at::Tensor index = at::arange(size, at::kDouble);
  const at::Tensor to_edge = at::minimum(index, static_cast<double>(size - 1) - index) + 0.5;
  const double width = static_cast<double>(std::max<std::int64_t>(1, size / 8));
  return (0.5 * M_PI * (to_edge / width).clamp_max(1)).sin().square();
}

/// The number of the ring of each pixel of an n x n spectrum, flat.
at::Tensor ring_numbers(std::int64_t size) {
  const at::Tensor frequency = at::fft_fftfreq(size, 1.0, at::kDouble) * static_cast<double>(size);
  return at::hypot(frequency.unsqueeze(1), frequency.unsqueeze(0)).round().to(at::kLong).flatten();
}

/// The threshold for a signal-to-noise ratio whose doubled root is `twice_root`; `count` is the
/// square root of each ring's independent pixels.
at::Tensor threshold(double ratio, double twice_root, const at::Tensor& count) {
  return (ratio + (1 + twice_root) / count) / (1 + ratio + twice_root / count);
}

double crossing_of(const RingCorrelation& rings, const std::vector<double>& threshold) {
  std::vector<double> excess;
  for (std::size_t ring = 0; ring < threshold.size(); ++ring)
    excess.push_back(rings.correlation[ring] - threshold[ring]);
  const auto last = static_cast<double>(excess.size() - 1);
  return std::min(falling_ring(excess, kFirstRing) / last, 1.0) * rings.cycles_per_px.back();
}

}  // namespace

RingSums ring_sums(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor ring = ring_numbers(a.size(0));
  const auto sum = [&](const at::Tensor& values) {
    return at::bincount(ring, values.contiguous());
  };
  const at::Tensor of_a = at::fft_fft2(a).flatten(), of_b = at::fft_fft2(b).flatten();
  return {sum(at::real(of_a * of_b.conj())), sum(of_a.abs().square()), sum(of_b.abs().square()),
          sum(at::ones_like(ring, at::kDouble))};
}

double falling_ring(const std::vector<double>& excess, std::size_t first) {
  for (std::size_t ring = first; ring < excess.size(); ++ring) {
    if (excess[ring] >= 0) continue;
    if (std::isnan(excess[ring])) return excess[ring];
    const auto here = static_cast<double>(ring);
    if (ring == first) return here;
    return here - 1 + excess[ring - 1] / (excess[ring - 1] - excess[ring]);
  }
  return static_cast<double>(excess.size());
}

RingCorrelation fourier_ring_correlation(const at::Tensor& a, const at::Tensor& b) {
  require(a.sizes() == b.sizes() && a.dim() == 2 && std::min(a.size(0), a.size(1)) >= 8,
          "Fourier ring correlation: expected two images of one shape, at least 8 x 8, found {} "
          "and {}",
          fmt::join(a.sizes(), " x "), fmt::join(b.sizes(), " x "));
  const std::int64_t size = std::min(a.size(0), a.size(1)), rings = size / 2 + 1;
  const at::Tensor weight = at::outer(fade(size), fade(size));
  const auto faded = [&](const at::Tensor& image) {
    const at::Tensor mean_free = (image - image.mean()).narrow(0, 0, size).narrow(1, 0, size);
    return mean_free.to(at::kComplexDouble) * weight;
  };
  const RingSums sums = ring_sums(faded(a), faded(b));
  const auto inner = [&](const at::Tensor& values) { return values.narrow(0, 0, rings); };
  const at::Tensor power = (inner(sums.power_a) * inner(sums.power_b)).sqrt();
  const at::Tensor squares = weight.square();
  const double independent = (squares.sum().square() / squares.square().sum()).item<double>() /
                             static_cast<double>(size * size);
  const at::Tensor root = (inner(sums.pixels) * independent).sqrt();
  return {to_vector(at::arange(rings, at::kDouble) / static_cast<double>(size)),
          to_vector(at::where(power.gt(0), inner(sums.agreement) / power, 0.0)),
          to_vector(threshold(0.2071, 0.9102, root)), to_vector(threshold(0.5, 1.4142, root))};
}

double crossing(const RingCorrelation& rings, double threshold) {
  return crossing_of(rings, std::vector<double>(rings.cycles_per_px.size(), threshold));
}

double half_bit_crossing(const RingCorrelation& rings) {
  return crossing_of(rings, rings.half_bit);
}

double one_bit_crossing(const RingCorrelation& rings) { return crossing_of(rings, rings.one_bit); }

RingCrossings crossings(const RingCorrelation& rings) {
  return {half_bit_crossing(rings), one_bit_crossing(rings), crossing(rings, 0.5),
          crossing(rings, 1.0 / 7)};
}

}  // namespace ptyche
