#include "ptyche/evaluate/fourier_ring_correlation.h"

#include <algorithm>
#include <cmath>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

constexpr std::size_t first_ring = 4;

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

std::vector<double> to_vector(const at::Tensor& values) {
  const at::Tensor row = values.contiguous();
  const double* first = row.const_data_ptr<double>();
  return {first, first + row.numel()};
}

/// The threshold for a signal-to-noise ratio whose doubled root is `twice_root`; `count` is the
/// square root of each ring's independent pixels.
at::Tensor threshold(double ratio, double twice_root, const at::Tensor& count) {
  return (ratio + (1 + twice_root) / count) / (1 + ratio + twice_root / count);
}

double crossing_of(const RingCorrelation& rings, const std::vector<double>& threshold) {
  const auto above = [&](std::size_t ring) { return rings.correlation[ring] - threshold[ring]; };
  const std::vector<double>& frequency = rings.cycles_per_px;
  for (std::size_t ring = first_ring; ring < frequency.size(); ++ring) {
    if (above(ring) >= 0) continue;
    if (ring == first_ring) return frequency[ring];
    const double part = above(ring - 1) / (above(ring - 1) - above(ring));
    return frequency[ring - 1] + part * (frequency[ring] - frequency[ring - 1]);
  }
  return frequency.back();
}

}  // namespace

RingCorrelation fourier_ring_correlation(const at::Tensor& a, const at::Tensor& b) {
  require(a.sizes() == b.sizes() && a.dim() == 2 && std::min(a.size(0), a.size(1)) >= 8,
          "Fourier ring correlation: expected two images of one shape, at least 8 x 8, found {} "
          "and {}",
          fmt::join(a.sizes(), " x "), fmt::join(b.sizes(), " x "));
  const std::int64_t size = std::min(a.size(0), a.size(1)), rings = size / 2 + 1;
  const at::Tensor weight = at::outer(fade(size), fade(size)), ring = ring_numbers(size);
  const auto spectrum = [&](const at::Tensor& image) {
    const at::Tensor mean_free = (image - image.mean()).narrow(0, 0, size).narrow(1, 0, size);
    return at::fft_fft2(mean_free.to(at::kComplexDouble) * weight).flatten();
  };
  const auto ring_sum = [&](const at::Tensor& values) {
    return at::bincount(ring, values.contiguous()).narrow(0, 0, rings);
  };
  const at::Tensor of_a = spectrum(a), of_b = spectrum(b);
  const at::Tensor power = (ring_sum(of_a.abs().square()) * ring_sum(of_b.abs().square())).sqrt();
  const at::Tensor agreement = ring_sum(at::real(of_a * of_b.conj()));
  const at::Tensor squares = weight.square();
  const double independent = (squares.sum().square() / squares.square().sum()).item<double>() /
                             static_cast<double>(size * size);
  const at::Tensor root = (ring_sum(at::ones_like(of_a.abs())) * independent).sqrt();
  return {to_vector(at::arange(rings, at::kDouble) / static_cast<double>(size)),
          to_vector(at::where(power.gt(0), agreement / power, 0.0)),
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
