#include "ptyche/data/probe.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <numeric>
#include <vector>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

constexpr std::int64_t kSummedAtOnce = 64;

/// Power of the probe's far field in the counted pixels.
double counted_power(const at::Tensor& probe, const at::Tensor& mask) {
  const at::Tensor wave = at::fft_fft2(probe.to(at::kComplexDouble), {}, {-2, -1}, "ortho");
  const at::Tensor power = at::abs(wave).square().sum(0);
  return (power * at::fft_ifftshift(mask)).sum().item<double>();
}

}  // namespace

at::Tensor mode_power(const at::Tensor& modes) {
  // Four to eight times as fast as squares of at::view_as_real summed over both axes.
  const at::Tensor real = at::real(modes), imaginary = at::imag(modes);
  return (real * real + imaginary * imaginary).sum(-3);
}

double probe_power(const at::Tensor& probe) {
  return at::view_as_real(probe).square().sum(at::kDouble).item<double>();
}

namespace {

/// Adds some pixels of the frames, or their roots, frame by frame: the same sum for any number of
/// threads.
template <bool roots, typename T>
void add_frames(const T* counts, const at::Tensor& frames, std::int64_t pixels, std::int64_t begin,
                std::int64_t end, double* sum) {
  const auto* const number = frames.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < frames.size(0); ++i) {
    const T* const frame = counts + number[i] * pixels;
    for (std::int64_t pixel = begin; pixel < end; ++pixel)
      sum[pixel] +=
          roots ? std::sqrt(static_cast<double>(frame[pixel])) : static_cast<double>(frame[pixel]);
  }
}

/// The sum of the frames or of their roots, where their type is one of a scan's; else undefined.
template <bool roots>
at::Tensor sum_of_frames(const at::Tensor& counts, const at::Tensor& chosen) {
  constexpr std::int64_t kPixelsAtOnce = 4096;  // of sums, which stay in the nearest cache
  const at::Tensor frames = chosen.contiguous();
  const std::int64_t pixels = counts.size(1) * counts.size(2);
  at::Tensor sum = at::zeros({counts.size(1), counts.size(2)}, at::kDouble);
  auto* const to = sum.mutable_data_ptr<double>();
  const auto add = [&]<typename T>(const T* from) {
    const std::int64_t parts = (pixels + kPixelsAtOnce - 1) / kPixelsAtOnce;
    at::parallel_for(0, parts, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t part = first; part < last; ++part)
        add_frames<roots>(from, frames, pixels, part * kPixelsAtOnce,
                          std::min(pixels, (part + 1) * kPixelsAtOnce), to);
    });
    return sum;
  };
  if (!counts.is_contiguous()) return {};
  if (counts.scalar_type() == at::kByte) return add(counts.const_data_ptr<std::uint8_t>());
  if (counts.scalar_type() == at::kShort) return add(counts.const_data_ptr<std::int16_t>());
  if (counts.scalar_type() == at::kInt) return add(counts.const_data_ptr<std::int32_t>());
  if (counts.scalar_type() == at::kFloat) return add(counts.const_data_ptr<float>());
  return {};
}

}  // namespace

at::Tensor mean_pattern(const at::Tensor& counts, const at::Tensor& frames, double power) {
  require(frames.size(0) > 0, "frames: expected at least one used pattern, found none");
  const auto number = static_cast<double>(frames.size(0));
  const auto by_type = [&] {
    if (power == 1) return sum_of_frames<false>(counts, frames);
    return power == 0.5 ? sum_of_frames<true>(counts, frames) : at::Tensor();
  };
  if (const at::Tensor sum = by_type(); sum.defined()) return sum / number;
  at::Tensor sum = at::zeros({counts.size(1), counts.size(2)}, at::kDouble);
  for (std::int64_t first = 0; first < frames.size(0); first += kSummedAtOnce) {
    const std::int64_t length = std::min(kSummedAtOnce, frames.size(0) - first);
    const at::Tensor batch = counts.index_select(0, frames.narrow(0, first, length));
    sum += (power == 1 ? batch : batch.to(at::kDouble).pow(power)).sum({0}, false, at::kDouble);
  }
  return sum / number;
}

at::Tensor calibrate_probe(const at::Tensor& probe, const at::Tensor& counts,
                           const at::Tensor& mask, const at::Tensor& frames, double photons) {
  return calibrated_to(probe, photons > 0 ? at::Tensor() : mean_pattern(counts, frames), mask,
                       photons);
}

at::Tensor calibrated_to(const at::Tensor& probe, const at::Tensor& mean, const at::Tensor& mask,
                         double photons) {
  const bool total_known = photons > 0;
  const double wanted = total_known ? photons : (mean * mask).sum().item<double>();
  const double found = counted_power(probe, total_known ? at::ones_like(mask) : mask);
  require(wanted > 0,
          "counts of the used patterns in the unmasked pixels: expected more than 0, found {}",
          wanted);
  require(std::isfinite(found) && found > 0,
          "power in the unmasked pixels: expected finite and > 0, found {}", found);
  return probe * std::sqrt(wanted / found);
}

at::Tensor probe_of_mean_pattern(const at::Tensor& counts, const at::Tensor& mask,
                                 const at::Tensor& frames, bool near_field) {
  return probe_of_mean(mean_pattern(counts, frames), mask, near_field);
}

at::Tensor probe_of_mean(const at::Tensor& mean, const at::Tensor& mask, bool near_field) {
  const at::Tensor root = at::sqrt(mean * mask).to(at::kComplexDouble);
  if (near_field) return root.unsqueeze(0).to(at::kComplexFloat);
  const at::Tensor wave = at::fft_ifft2(at::fft_ifftshift(root), {}, {-2, -1}, "ortho");
  return at::fft_fftshift(wave).unsqueeze(0).to(at::kComplexFloat);
}

namespace {

constexpr std::int64_t kAsked = 2000;  // positions; bounds the time of large scans

}  // namespace

at::Tensor probe_for_size(const at::Tensor& probe, std::int64_t size) {
  constexpr std::array<std::int64_t, 2> axes{-2, -1};
  const at::Tensor centred = at::fft_ifftshift(probe.to(at::kComplexDouble), axes);
  const at::Tensor wave = at::fft_fftshift(at::fft_fft2(centred, {}, axes, "ortho"), axes);
  const std::int64_t old = probe.size(-1);
  const std::int64_t before = size / 2 - old / 2, after = size - old - before;  // cut where below 0
  const at::Tensor kept = at::constant_pad_nd(wave, {before, after, before, after});
  const at::Tensor near = at::fft_ifft2(at::fft_ifftshift(kept, axes), {}, axes, "ortho");
  return at::fft_fftshift(near, axes).to(at::kComplexFloat);
}

at::Tensor lit_pixels(const at::Tensor& light, double share) {
  return light.gt(share * light.max());
}

double probe_diameter_px(const at::Tensor& probe) {
  const at::Tensor power = probe.abs().square().sum(0).to(at::kDouble);
  const at::Tensor share = power / power.sum(), axis = at::arange(power.size(0), at::kDouble);
  const at::Tensor row = axis - (share.sum(1) * axis).sum();
  const at::Tensor col = axis - (share.sum(0) * axis).sum();
  const at::Tensor radius = (row.square().unsqueeze(1) + col.square().unsqueeze(0)).sqrt().view(-1);
  const at::Tensor order = radius.argsort();
  const at::Tensor inside = share.reshape(-1).index_select(0, order).cumsum(0).lt(0.9).sum();
  const std::int64_t place = std::min(inside.item<std::int64_t>(), radius.size(0) - 1);
  return 2 * radius[order[place].item<std::int64_t>()].item<double>();
}

double likeness_of_probes(const at::Tensor& one, const at::Tensor& other) {
  const at::Tensor a = at::fft_fft2(one[0].to(at::kComplexDouble)),
                   b = at::fft_fft2(other[0].to(at::kComplexDouble));
  const double best = at::fft_ifft2(a * b.conj()).abs().max().item<double>();
  const double powers = (a.abs().square().sum() * b.abs().square().sum()).item<double>();
  return best * static_cast<double>(a.numel()) / std::sqrt(powers);
}

at::Tensor twin_of_probe(const at::Tensor& probe) {
  return probe.flip({-2, -1}).roll({1, 1}, {-2, -1}).conj().resolve_conj().contiguous();
}

double likeness_to_twin(const at::Tensor& probe) {
  return likeness_of_probes(probe, twin_of_probe(probe));
}

namespace {

struct SortedPoints {
  std::vector<std::array<double, 2>> points;  ///< by row
  std::vector<std::size_t> rank;              ///< of each position among them
};

SortedPoints sorted_by_row(const at::Tensor& positions) {
  const at::Tensor places = positions.to(at::kDouble).contiguous();
  const auto* place = reinterpret_cast<const std::array<double, 2>*>(places.const_data_ptr());
  const auto count = static_cast<std::size_t>(places.size(0));
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::is_lt(std::strong_order(place[a][0], place[b][0]));
  });
  SortedPoints sorted{std::vector<std::array<double, 2>>(count), std::vector<std::size_t>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    sorted.points[i] = place[order[i]];
    sorted.rank[order[i]] = i;
  }
  return sorted;
}

/// Places whose distance is less than this share of that to the next one are one place that was
/// exposed two or three times, as an encoder tells it; more would be a line of a scan.
constexpr double kOnePlace = 0.1;
constexpr std::size_t kExposures = 2;  // beside its own

/// Squared distances of one position to the nearest other one, and to the nearest that is no
/// exposure of the same place; 0 where there is none.
struct NearestSquares {
  double other = 0, beyond = 0;
};

/// Neighbours by row are looked at until their rows alone are farther than the last that counts.
NearestSquares nearest_squares(const std::vector<std::array<double, 2>>& points, std::size_t own) {
  std::array<double, kExposures + 1> nearest;  // ascending
  nearest.fill(INFINITY);
  const auto look = [&](std::size_t other) {
    const double rows = points[other][0] - points[own][0], cols = points[other][1] - points[own][1];
    const double square = rows * rows + cols * cols;
    if (square > 0 && square < nearest.back()) {
      nearest.back() = square;
      for (std::size_t i = kExposures; i > 0 && nearest[i] < nearest[i - 1]; --i)
        std::swap(nearest[i], nearest[i - 1]);
    }
    return rows * rows < nearest.back();
  };
  for (std::size_t other = own; other > 0 && look(other - 1);) --other;
  for (std::size_t other = own + 1; other < points.size() && look(other);) ++other;
  for (std::size_t i = 1; i <= kExposures && std::isfinite(nearest[i]); ++i)
    if (nearest[i - 1] < kOnePlace * kOnePlace * nearest[i]) return {nearest[0], nearest[i]};
  return {std::isfinite(nearest[0]) ? nearest[0] : 0, 0};
}

}  // namespace

double median_step_px(const at::Tensor& positions) {
  const std::int64_t count = positions.size(0), asked = std::min(count, kAsked);
  if (count < 2) return 0;
  const SortedPoints sorted = sorted_by_row(positions);
  std::vector<double> nearest, other_places;
  for (std::int64_t i = 0; i < asked; ++i) {
    const NearestSquares squares =
        nearest_squares(sorted.points, sorted.rank[static_cast<std::size_t>(i * count / asked)]);
    nearest.push_back(std::sqrt(squares.other));
    if (squares.beyond > 0) other_places.push_back(std::sqrt(squares.beyond));
  }
  const bool exposed_often = 2 * other_places.size() > nearest.size();
  return at::tensor(exposed_often ? other_places : nearest, at::kDouble).median().item<double>();
}

namespace {

/// Shares of a probe's diameter: of a step of a good scan, and of one that can be thought of.
constexpr double kStepLow = 0.03, kStepHigh = 0.95, kLeastStep = 0.01, kLargestStep = 1;

struct LengthUnit {
  int power;
  const char* name;
};
constexpr std::array<LengthUnit, 5> kUnits{
    {{-3, "mm"}, {-6, "um"}, {-9, "nm"}, {-10, "A"}, {-12, "pm"}}};

double share_of(double step, double diameter, int power) {
  return step * std::pow(10.0, power) / diameter;
}

}  // namespace

int only_power_of_ten(double step, double diameter) {
  int fits = 0, possible = 0;
  for (const LengthUnit& unit : kUnits)
    for (const int power : {unit.power, -unit.power}) {
      const double share = share_of(step, diameter, power);
      if (share > kStepLow && share < kStepHigh) fits = power;
      possible += share > kLeastStep && share < kLargestStep ? 1 : 0;
    }
  return possible == 1 ? fits : 0;
}

std::string units_to_type(double step, double diameter) {
  std::string text;
  for (const auto& [power, name] : kUnits) {
    const double share = share_of(step, diameter, power);
    if (share > kLeastStep && share < kLargestStep)
      text += fmt::format("{}X*{},Y*{}", text.empty() ? "" : " or ", name, name);
  }
  return "--positions " + (text.empty() ? "X*um,Y*um" : text);
}

}  // namespace ptyche
