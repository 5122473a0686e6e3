#include "ptyche/report/display.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace ptyche {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;

/// First and one past the last true index of a (n) bool tensor; 0..n where none is true.
std::array<std::int64_t, 2> true_span(const at::Tensor& line) {
  const at::Tensor index = line.nonzero();
  if (index.size(0) == 0) return {0, line.size(0)};
  return {index[0].item<std::int64_t>(), index[-1].item<std::int64_t>() + 1};
}

double value_at(const at::Tensor& sorted, double fraction) {
  const auto last = static_cast<double>(sorted.size(0) - 1);
  return sorted[std::llround(fraction * last)].item<double>();
}

/// exp(-2 pi i f x) for each frequency f and x = 0..length-1: (frequencies, length) complex64.
at::Tensor fourier_rows(const at::Tensor& frequencies, std::int64_t length) {
  const at::Tensor turns = at::outer(frequencies, at::arange(length, at::kDouble));
  return at::polar(at::ones_like(turns), -two_pi * turns).to(at::kComplexFloat);
}

/// Row and column of the largest element of a matrix.
std::array<std::int64_t, 2> place_of_largest(const at::Tensor& matrix) {
  const auto index = matrix.argmax().item<std::int64_t>();
  return {index / matrix.size(1), index % matrix.size(1)};
}

/// Frequencies (cycles per pixel, row and col) of the strongest plane wave in `field`.
std::array<double, 2> strongest_frequency(const at::Tensor& field) {
  constexpr int steps = 20;
  const std::array<std::int64_t, 2> size{field.size(0), field.size(1)};
  const auto coarse = place_of_largest(at::fft_fft2(field).abs());
  std::array<double, 2> peak;
  for (int axis : {0, 1})
    peak[axis] = static_cast<double>(coarse[axis]) / static_cast<double>(size[axis]);
  for (const double reach_bins : {1.0, 1.0 / steps, 1.0 / (steps * steps)}) {
    std::array<at::Tensor, 2> tried;
    for (int axis : {0, 1}) {
      const double reach = reach_bins / static_cast<double>(size[axis]);
      tried[axis] =
          at::linspace(peak[axis] - reach, peak[axis] + reach, 2 * steps + 1, at::kDouble);
    }
    const at::Tensor spectrum =
        fourier_rows(tried[0], size[0]).matmul(field).matmul(fourier_rows(tried[1], size[1]).t());
    const auto best = place_of_largest(spectrum.abs());
    for (int axis : {0, 1}) peak[axis] = tried[axis][best[axis]].item<double>();
  }
  for (double& frequency : peak) frequency -= std::round(frequency);
  return peak;
}

}  // namespace

at::Tensor lit_above(const at::Tensor& coverage, double fraction) {
  const at::Tensor known = coverage.nan_to_num(0, 0, 0);
  const double strongest = known.numel() > 0 ? known.max().item<double>() : 0;
  if (!(strongest > 0)) return at::ones_like(known, at::kBool);
  return known > fraction * strongest;
}

PixelBox bounding_box(const at::Tensor& mask) {
  const auto rows = true_span(mask.any(1));
  const auto cols = true_span(mask.any(0));
  return {rows[0], rows[1], cols[0], cols[1]};
}

at::Tensor crop(const at::Tensor& image, const PixelBox& box) {
  return image.slice(0, box.row_begin, box.row_end).slice(1, box.col_begin, box.col_end);
}

ValueRange robust_range(const at::Tensor& values, const at::Tensor& mask) {
  const at::Tensor kept = values.masked_select(mask.logical_and(at::isfinite(values)));
  if (kept.numel() == 0) return {};
  const at::Tensor sorted = std::get<0>(kept.to(at::kDouble).sort());
  const ValueRange range{value_at(sorted, 0.01), value_at(sorted, 0.99)};
  const double size = std::max(std::abs(range.low), std::abs(range.high));
  if (range.high - range.low > 1e-6 * size) return range;
  const double margin = size > 0 ? 0.05 * size : 0.05;
  return {range.low - margin, range.high + margin};
}

at::Tensor everywhere(const at::Tensor& values) { return at::ones_like(values, at::kBool); }

ValueRange common_range(const std::vector<at::Tensor>& images) {
  const at::Tensor all = at::cat(images);
  return robust_range(all, everywhere(all));
}

double bright_level(const at::Tensor& values) {
  const at::Tensor amplitude = values.abs().nan_to_num(0, 0, 0).flatten();
  const double level = value_at(std::get<0>(amplitude.sort()), 0.995);
  return level > 0 ? level : 1;
}

DisplayPhase display_phase(const at::Tensor& object, const at::Tensor& mask) {
  const at::Tensor kept = mask.logical_and(at::isfinite(object));
  const at::Tensor field = object.to(at::kComplexFloat).masked_fill(kept.logical_not(), 0);
  const auto frequency = strongest_frequency(field);
  const auto against = [&](int axis) {
    return fourier_rows(at::full({1}, frequency[axis], at::kDouble), object.size(axis));
  };
  const at::Tensor wave = against(0).t() * against(1);
  const at::Tensor turn_back = (field * wave).sum().conj().sgn();
  const at::Tensor phase = (object.to(at::kComplexFloat) * wave * turn_back).angle();
  return {phase, two_pi * frequency[0], two_pi * frequency[1]};
}

}  // namespace ptyche
