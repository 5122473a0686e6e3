#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include "ptyche/io/disk_edge.h"

namespace ptyche {
namespace {

constexpr double kNoise = 3;  // standard deviations of the dark pixels that count as none
constexpr std::size_t kBrightPixels = 24;  // half of the smallest disk
constexpr double kDarkShare = 0.05;
constexpr double kStandsOut = 2.5, kStandardErrors = 6;  // against the third of its neighbours
constexpr std::size_t kFewestNeighbours = 5;
constexpr double kLeast = 3, kMost = 6.5, kStep = 0.5;  // radii in an octave, px
constexpr int kOctants = 8;
constexpr std::size_t kRings = 18, kHalfWidth = 3;
constexpr double kReach = kRings * 0.5;
constexpr double kLargestFall = 2.5, kLargestRise = 0.5, kWeakest = 0.1;
constexpr double kBorder = 0.12;  // of the detector: no disk's middle lies there
constexpr double kLargest = 0.6;  // of the detector
constexpr std::size_t kOfEachOctave = 4;
constexpr std::int64_t kSmallest_px = 7;  // that is still searched: then kLargest is reached

struct Offset {
  std::int64_t row, col;
  std::size_t ring, octant;
};

std::size_t ring_of(double down, double right) {
  return static_cast<std::size_t>(2 * std::hypot(down, right));
}

std::size_t octant_of(double down, double right) {
  const double turn = std::atan2(down, right) / (2 * std::numbers::pi) + 1;
  return static_cast<std::size_t>(static_cast<int>(turn * kOctants) % kOctants);
}

const std::vector<Offset>& offsets() {
  static const std::vector<Offset> all = [] {
    std::vector<Offset> made;
    const auto most = static_cast<std::int64_t>(kReach);
    for (std::int64_t r = -most; r <= most; ++r)
      for (std::int64_t c = -most; c <= most; ++c) {
        const auto down = static_cast<double>(r), right = static_cast<double>(c);
        if (std::hypot(down, right) < kReach)
          made.push_back({r, c, ring_of(down, right), octant_of(down, right)});
      }
    return made;
  }();
  return all;
}

struct Found {
  Circle circle;
  double strength = 0;
};

/// Of a pixel's eight neighbours those that count, ascending.
std::vector<double> neighbours(const DiskImage& image, std::int64_t row, std::int64_t col) {
  std::vector<double> around;
  for (std::int64_t r = std::max<std::int64_t>(0, row - 1); r <= std::min(image.rows - 1, row + 1);
       ++r)
    for (std::int64_t c = std::max<std::int64_t>(0, col - 1);
         c <= std::min(image.cols - 1, col + 1); ++c) {
      const auto at = static_cast<std::size_t>(r * image.cols + c);
      if ((r != row || c != col) && image.weight[at] > 0) around.push_back(image.light[at]);
    }
  std::ranges::sort(around);
  return around;
}

/// Of the darker half: the median difference of neighbours in a row, as a standard deviation.
double noise_of(const DiskImage& image) {
  std::vector<double> sum, difference;
  for (std::size_t i = 1; i < image.light.size(); ++i) {
    if (image.weight[i] <= 0 || image.weight[i - 1] <= 0) continue;
    const double a = image.light[i - 1] / image.weight[i - 1], b = image.light[i] / image.weight[i];
    sum.push_back(a + b);
    difference.push_back(std::abs(a - b));
  }
  if (sum.empty()) return 0;
  std::vector<double> sorted = sum;
  const auto middle = static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), sorted.begin() + middle, sorted.end());
  const double bound = sorted[static_cast<std::size_t>(middle)];
  std::vector<double> dark;
  for (std::size_t i = 0; i < sum.size(); ++i)
    if (sum[i] <= bound) dark.push_back(difference[i]);
  const auto half = static_cast<std::ptrdiff_t>(dark.size() / 2);
  std::nth_element(dark.begin(), dark.begin() + half, dark.end());
  return dark[static_cast<std::size_t>(half)] * 1.4826 / std::numbers::sqrt2;
}

/// Logarithm of the light in units of the level; no number where nothing is counted.
std::vector<double> logarithms(const DiskImage& image, const LightLevels& levels) {
  std::vector<double> found(image.light.size(), std::nan(""));
  const double floor = std::max(kFaintLight, kNoise * noise_of(image) / levels.level);
  for (std::size_t i = 0; i < found.size(); ++i)
    if (image.weight[i] > 0) {
      const double light = image.light[i] / image.weight[i] - levels.background;
      found[i] = std::log(std::max(light, 0.0) / levels.level + floor);
    }
  return found;
}

using Octants = std::array<double, static_cast<std::size_t>(kOctants)>;

/// Sums over rings of half a pixel, each in octants.
template <class Rings>
struct Profile {
  Rings sum{}, count{};

  void add(std::size_t ring, std::size_t octant, double value) {
    sum[ring][octant] += value;
    count[ring][octant] += 1;
  }

  /// Mean over the octants that are seen of what the 1.5 px within a ring's inner rim have more
  /// than the 1.5 px beyond it; less where some are not seen, 0 where half of them are not.
  double fall(std::size_t ring) const {
    double total = 0;
    int seen = 0;
    for (std::size_t o = 0; o < std::tuple_size_v<Octants>; ++o) {
      double in = 0, in_count = 0, out = 0, out_count = 0;
      for (std::size_t k = 1; k <= kHalfWidth; ++k) {
        in += sum[ring - k][o];
        in_count += count[ring - k][o];
        out += sum[ring + k - 1][o];
        out_count += count[ring + k - 1][o];
      }
      if (in_count < 1 || out_count < 1) continue;
      total += std::clamp(in / in_count - out / out_count, -kLargestRise, kLargestFall);
      ++seen;
    }
    return 2 * seen < kOctants ? 0 : total / std::sqrt(static_cast<double>(seen * kOctants));
  }
};

/// The radius at which the light falls most around one pixel.
Found best_around(const std::vector<double>& values, std::int64_t rows, std::int64_t cols,
                  std::int64_t row, std::int64_t col, double most) {
  Profile<std::array<Octants, kRings>> profile;
  for (const Offset& offset : offsets()) {
    const std::int64_t r = row + offset.row, c = col + offset.col;
    if (r < 0 || r >= rows || c < 0 || c >= cols) continue;
    const double value = values[static_cast<std::size_t>(r * cols + c)];
    if (!std::isnan(value)) profile.add(offset.ring, offset.octant, value);
  }
  Found best;
  for (double radius = kLeast; radius <= most; radius += kStep) {
    const double strength = profile.fall(static_cast<std::size_t>(std::lround(2 * radius)));
    if (strength > best.strength)
      best = {{static_cast<double>(row), static_cast<double>(col), radius}, strength};
  }
  return best;
}

std::vector<Found> of_octave(const DiskImage& image, const LightLevels& levels, double most) {
  const std::vector<double> values = logarithms(image, levels);
  std::vector<Found> all;
  const auto border = [](std::int64_t length) {
    return static_cast<std::int64_t>(kBorder * static_cast<double>(length));
  };
  for (std::int64_t r = border(image.rows); r < image.rows - border(image.rows); ++r)
    for (std::int64_t c = border(image.cols); c < image.cols - border(image.cols); ++c) {
      const Found best = best_around(values, image.rows, image.cols, r, c, most);
      if (best.strength > kWeakest) all.push_back(best);
    }
  std::ranges::sort(all, [](const Found& a, const Found& b) { return a.strength > b.strength; });
  std::vector<Found> best;
  for (const Found& one : all) {
    const bool known = std::ranges::any_of(best, [&](const Found& other) {
      return std::hypot(one.circle.row - other.circle.row, one.circle.col - other.circle.col) < 3 &&
             std::abs(one.circle.radius - other.circle.radius) <= 1;
    });
    if (!known) best.push_back(one);
    if (best.size() == kOfEachOctave) break;
  }
  return best;
}

}  // namespace

LightLevels light_levels(const DiskImage& image) {
  std::vector<double> values;
  for (std::size_t i = 0; i < image.light.size(); ++i)
    if (image.weight[i] > 0) values.push_back(image.light[i] / image.weight[i]);
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto dark = static_cast<std::size_t>(kDarkShare * static_cast<double>(values.size()));
  const std::size_t bright = std::min(values.size(), kBrightPixels);
  return {values[dark], std::max(values[values.size() - bright] - values[dark], 1e-12)};
}

void leave_out_outliers(DiskImage& image) {
  std::vector<std::size_t> found;
  for (std::int64_t r = 0; r < image.rows; ++r)
    for (std::int64_t c = 0; c < image.cols; ++c) {
      const std::vector<double> around = neighbours(image, r, c);
      if (around.size() < kFewestNeighbours) continue;
      const auto at = static_cast<std::size_t>(r * image.cols + c);
      const auto beyond = [](double large, double small) {
        return large > kStandsOut * small + kStandardErrors * (std::sqrt(std::abs(large)) + 1);
      };
      if (beyond(image.light[at], around[around.size() - 3]) || beyond(around[2], image.light[at]))
        found.push_back(at);
    }
  for (const std::size_t at : found) image.weight[at] = 0;
}

DiskImage halved(const DiskImage& image) {
  DiskImage half{image.rows / 2, image.cols / 2, {}, {}};
  half.light.assign(static_cast<std::size_t>(half.rows * half.cols), 0);
  half.weight.assign(half.light.size(), 0);
  for (std::int64_t r = 0; r < 2 * half.rows; ++r)
    for (std::int64_t c = 0; c < 2 * half.cols; ++c) {
      const auto from = static_cast<std::size_t>(r * image.cols + c);
      const auto to = static_cast<std::size_t>(r / 2 * half.cols + c / 2);
      if (image.weight[from] <= 0) continue;
      half.light[to] += image.light[from];
      half.weight[to] += image.weight[from];
    }
  return half;
}

std::vector<double> falls_around(const DiskImage& image, double row, double col) {
  const std::vector<double> values = logarithms(image, light_levels(image));
  Profile<std::vector<Octants>> profile;
  const auto rings = static_cast<std::size_t>(2 * std::hypot(image.rows, image.cols)) + 8;
  profile.sum.resize(rings);
  profile.count.resize(rings);
  for (std::int64_t r = 0; r < image.rows; ++r)
    for (std::int64_t c = 0; c < image.cols; ++c) {
      const double value = values[static_cast<std::size_t>(r * image.cols + c)];
      if (std::isnan(value)) continue;
      const double down = static_cast<double>(r) - row, right = static_cast<double>(c) - col;
      profile.add(ring_of(down, right), octant_of(down, right), value);
    }
  std::vector<double> fall(rings, 0);
  for (std::size_t ring = kHalfWidth; ring + kHalfWidth <= rings; ++ring)
    fall[ring] = profile.fall(ring);
  std::vector<std::pair<double, double>> peaks;
  for (std::size_t ring = kHalfWidth; ring + kHalfWidth < rings; ++ring) {
    const double others =
        std::max({fall[ring - 2], fall[ring - 1], fall[ring + 1], fall[ring + 2]});
    if (fall[ring] > kWeakest && fall[ring] >= others)
      peaks.emplace_back(fall[ring], 0.5 * static_cast<double>(ring));
  }
  std::ranges::sort(peaks, std::greater{});
  std::vector<double> radii;
  for (const auto& peak : peaks) radii.push_back(peak.second);
  return radii;
}

std::vector<Circle> disk_candidates(const DiskImage& whole) {
  std::vector<Found> all;
  const LightLevels levels = light_levels(whole);
  double scale = 1;
  for (DiskImage image = whole; std::min(image.rows, image.cols) >= kSmallest_px;
       image = halved(image), scale *= 2) {
    const double widest = kLargest * static_cast<double>(std::min(image.rows, image.cols));
    const bool last = std::min(image.rows, image.cols) < 2 * kSmallest_px;
    for (Found each : of_octave(image, levels, std::min(last ? kReach - 1.5 : kMost, widest))) {
      each.circle = {(each.circle.row + 0.5) * scale - 0.5, (each.circle.col + 0.5) * scale - 0.5,
                     each.circle.radius * scale};
      all.push_back(each);
    }
  }
  std::ranges::sort(all, [](const Found& a, const Found& b) { return a.strength > b.strength; });
  std::vector<Circle> circles;
  for (const Found& each : all) circles.push_back(each.circle);
  return circles;
}

}  // namespace ptyche
