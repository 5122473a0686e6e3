#include "ptyche/prepare/patterns.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ptyche/data/array.h"
#include "ptyche/data/probe.h"
#include "ptyche/physics/forward_model.h"

namespace ptyche {
namespace {

/// How many patterns are looked at: what the tests take grows with it, what they can tell hardly.
std::int64_t most_patterns(std::int64_t pattern_size) {
  if (pattern_size <= 64) return 600;
  return pattern_size <= 128 ? 400 : 250;
}

/// Of a large scan, patterns that follow each other: order can be seen in them, and of most scans
/// they are neighbours; else those around the middle of the scan.
at::Tensor chosen_frames(const at::Tensor& frames, const at::Tensor& positions, std::int64_t most) {
  if (frames.size(0) <= most) return frames;
  constexpr double kStillDense =
      1.5;  // a run of a raster or spiral 1.0, of a shuffled scan 2 and more
  const at::Tensor run = frames.narrow(0, (frames.size(0) - most) / 2, most);
  const double step = median_step_px(positions.index_select(0, frames));
  if (median_step_px(positions.index_select(0, run)) <= kStillDense * step) return run;
  const at::Tensor places = positions.index_select(0, frames);
  const at::Tensor away = (places - std::get<0>(places.median(0))).square().sum(1);
  return frames.index_select(0, std::get<0>(away.argsort(true, 0).narrow(0, 0, most).sort()));
}

}  // namespace

at::Tensor usable_frames(const Scan& scan) {
  return at::nonzero(scan.frame_use().ne(static_cast<int>(FrameUse::rejected))).flatten();
}

Patterns patterns_of(const Scan& scan) {
  Patterns part;
  part.frames =
      chosen_frames(usable_frames(scan), scan.positions(), most_patterns(scan.pattern_size()));
  part.mask = scan.mask();
  part.counts = counts_of(scan, part.frames).to(at::kFloat);
  if (!part.mask.all().item<bool>()) part.counts.mul_(part.mask);
  part.positions = scan.positions().index_select(0, part.frames).contiguous();
  part.totals = part.counts.flatten(1).sum(1, false, at::kDouble);
  return part;
}

Patterns some_of(const Patterns& patterns, const at::Tensor& which) {
  return {patterns.frames.index_select(0, which), patterns.counts.index_select(0, which),
          patterns.mask, patterns.positions.index_select(0, which),
          patterns.totals.index_select(0, which)};
}

std::vector<std::vector<std::int64_t>> nearest(const at::Tensor& positions, std::int64_t count) {
  const at::Tensor places = positions.contiguous();
  const double* place = places.const_data_ptr<double>();
  const auto size = static_cast<std::size_t>(places.size(0));
  const std::size_t wanted = std::min(static_cast<std::size_t>(count), size - 1);
  std::vector<std::vector<std::int64_t>> lists(size);
  std::vector<std::pair<double, std::int64_t>> all(size);
  for (std::size_t own = 0; own < size; ++own) {
    for (std::size_t other = 0; other < size; ++other)
      all[other] = {other == own ? INFINITY
                                 : std::hypot(place[2 * other] - place[2 * own],
                                              place[2 * other + 1] - place[2 * own + 1]),
                    static_cast<std::int64_t>(other)};
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(wanted), all.end());
    for (std::size_t i = 0; i < wanted; ++i) lists[own].push_back(all[i].second);
  }
  return lists;
}

double spread_about_neighbours(const Patterns& patterns) {
  if (patterns.size() < 8) return 0;
  const double median = std::max(patterns.totals.median().item<double>(), 1e-9);
  const std::vector<double> level = to_vector((patterns.totals / median).clamp_min(0.02).log());
  const auto lists = nearest(patterns.positions, 4);
  std::vector<double> off;
  for (std::size_t own = 0; own < level.size(); ++own) {
    double sum = 0;
    for (const std::int64_t other : lists[own]) sum += level[static_cast<std::size_t>(other)];
    off.push_back(std::clamp(level[own] - sum / static_cast<double>(lists[own].size()), -1.0, 1.0));
  }
  const double variance = at::tensor(off, at::kDouble).var(false).item<double>() / 1.25;
  return std::sqrt(std::max(variance - 1 / median, 0.0));
}

Binned binned(const at::Tensor& counts, const at::Tensor& mask) {
  std::int64_t size = counts.size(-1), factor = 1;
  while (size > 64 && size % 2 == 0) size /= 2, factor *= 2;
  if (factor == 1) return {counts, mask};
  std::vector<std::int64_t> shape = counts.sizes().vec();
  shape.resize(shape.size() - 2);
  shape.insert(shape.end(), {size, factor, size, factor});
  return {counts.contiguous().view(shape).sum({-3, -1}),
          mask.contiguous().view({size, factor, size, factor}).any(3).any(1)};
}

at::Tensor blurred_around(const at::Tensor& image, double sigma_px) {
  const at::Tensor frequency = at::fft_fftfreq(image.size(0)).to(at::kDouble).square();
  const at::Tensor weight =
      ((frequency.unsqueeze(1) + frequency) * (-2 * M_PI * M_PI * sigma_px * sigma_px)).exp();
  return at::real(at::fft_ifft2(at::fft_fft2(image.to(at::kDouble)) * weight));
}

at::Tensor filled(const at::Tensor& mean, const at::Tensor& mask) {
  if (mask.all().item<bool>()) return mean;
  const at::Tensor weight = gaussian_filter(mask.to(at::kDouble), 1.5);
  return at::where(mask, mean, gaussian_filter(mean * mask, 1.5) / weight.clamp_min(1e-3));
}

std::array<double, 2> peak_between_pixels(const at::Tensor& correlation) {
  const at::Tensor values = correlation.to(at::kDouble).contiguous();
  const std::int64_t size = values.size(0), best = values.argmax().item<std::int64_t>();
  const std::int64_t row = best / size, col = best % size;
  const double* value = values.const_data_ptr<double>();
  const auto at = [&](std::int64_t i, std::int64_t j) {
    return value[((row + i + size) % size) * size + (col + j + size) % size];
  };
  const auto bend = [](double before, double here, double after) {
    const double curvature = before - 2 * here + after;
    return curvature < 0 ? 0.5 * (before - after) / curvature : 0.0;
  };
  const auto wrapped = [&](std::int64_t place) {
    return static_cast<double>((place + size / 2) % size - size / 2);
  };
  return {wrapped(row) + bend(at(-1, 0), at(0, 0), at(1, 0)),
          wrapped(col) + bend(at(0, -1), at(0, 0), at(0, 1))};
}

at::Tensor far_field_of(const at::Tensor& probe) {
  const at::Tensor wave = propagate_far_field(to_fft_order(probe.to(at::kComplexDouble)));
  return to_centred(mode_power(wave));
}

}  // namespace ptyche
