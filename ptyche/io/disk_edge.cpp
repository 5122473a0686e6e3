#include "ptyche/io/disk_edge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

namespace ptyche {
namespace {

constexpr int kLevels = 4;     // of a sector: level and slope, inside and outside
constexpr double kArc_px = 4;  // of a sector, at least
constexpr int kFewestSectors = 6, kMostSectors = 24;
constexpr double kFewestSamples = 10;  // of a sector
constexpr double kModelError = 0.03;   // of a sector's level, beside the photon noise
constexpr double kFaintest = 0.15;
constexpr double kOutlier = 2.5;       // standard deviations beyond which a residual is cut
constexpr double kSlopePrior = 0.003;  // of what the pixels say: it decides where none do
constexpr double kSmallestBlur = 0.25, kLargestBlurOfRadius = 0.45;
constexpr int kMostSteps = 15;
constexpr double kFalls = 0.2;  // natural logarithm from which the light falls at a rim

struct Sample {
  double row, col, light, weight;
};
using Shape = std::array<double, 4>;  // row, col, radius, blur

/// Every k-th of too many: their places in rows and columns are not in step with the sectors.
void thin_out(std::vector<Sample>& samples, std::size_t most) {
  if (samples.size() <= most) return;
  const std::size_t every = (samples.size() + most - 1) / most | 1;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < samples.size(); i += every) samples[kept++] = samples[i];
  samples.resize(kept);
}

/// Pixels of the annulus between `inner` and `outer` around `circle`.
std::vector<Sample> annulus(const std::vector<PlacedImage>& images, const Circle& circle,
                            double inner, double outer) {
  std::vector<Sample> found;
  for (const PlacedImage& moved : images) {
    const DiskImage& image = *moved.image;
    const double at_row = circle.row + moved.row, at_col = circle.col + moved.col;
    const auto first_row = std::max<std::int64_t>(0, std::lround(std::floor(at_row - outer)));
    const auto last_row = std::min<std::int64_t>(image.rows - 1, std::lround(at_row + outer) + 1);
    const auto first_col = std::max<std::int64_t>(0, std::lround(std::floor(at_col - outer)));
    const auto last_col = std::min<std::int64_t>(image.cols - 1, std::lround(at_col + outer) + 1);
    for (std::int64_t r = first_row; r <= last_row; ++r)
      for (std::int64_t c = first_col; c <= last_col; ++c) {
        const auto at = static_cast<std::size_t>(r * image.cols + c);
        const double row = static_cast<double>(r) - moved.row,
                     col = static_cast<double>(c) - moved.col;
        const double radius = std::hypot(row - circle.row, col - circle.col);
        if (image.weight[at] > 0 && radius >= inner && radius <= outer)
          found.push_back({row, col, image.light[at] / image.weight[at], image.weight[at]});
      }
  }
  return found;
}

double edge_of(double distance, double radius, double blur) {
  const double z = (radius - distance) / blur - blur / (2 * std::max(distance, blur));
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

/// Solves the symmetric system in place; its matrix is made definite by the prior.
template <int n, std::size_t nn, std::size_t m>
void solve(std::array<double, nn>& a, std::array<double, m>& x) {
  for (int i = 0; i < n; ++i) {
    const double pivot = std::max(a[i * n + i], 1e-300);
    for (int j = i + 1; j < n; ++j) {
      const double factor = a[j * n + i] / pivot;
      for (int k = i; k < n; ++k) a[j * n + k] -= factor * a[i * n + k];
      x[j] -= factor * x[i];
    }
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int k = i + 1; k < n; ++k) x[i] -= a[i * n + k] * x[k];
    x[i] /= std::max(a[i * n + i], 1e-300);
  }
}

/// The annulus in sectors.
class Rim {
 public:
  Rim(std::vector<Sample> samples, const Circle& around, double reach, const LightLevels& light)
      : samples_(std::move(samples)), reach_(reach), background_(light.background) {
    const double arcs = 2 * std::numbers::pi * around.radius / kArc_px;
    sectors_.resize(std::clamp(static_cast<int>(arcs), kFewestSectors, kMostSectors));
    const double count = static_cast<double>(sectors_.size());
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const double angle = std::atan2(samples_[i].row - around.row, samples_[i].col - around.col);
      const double place = (angle / (2 * std::numbers::pi) + 1) * count;
      sectors_[static_cast<std::size_t>(place) % sectors_.size()].push_back(i);
    }
    robust_.assign(samples_.size(), 1);
    deviation_.assign(samples_.size(), 1);
    scale_.resize(sectors_.size());
    for (std::size_t s = 0; s < sectors_.size(); ++s) {
      scale_[s] = std::max(scale_of(sectors_[s]), kFaintLight * light.level);
      for (const std::size_t i : sectors_[s]) deviation_[i] = deviation_of(i, s, scale_[s]);
    }
  }

  std::size_t sectors() const { return sectors_.size(); }
  bool known(std::size_t sector) const {
    return static_cast<double>(sectors_[sector].size()) >= kFewestSamples;
  }

  /// Residuals at a shape, each over its standard deviation; the levels of each sector.
  void residuals(const Shape& shape, std::vector<double>& left,
                 std::vector<std::array<double, kLevels>>& levels) const {
    left.assign(samples_.size(), 0);
    levels.assign(sectors_.size(), {});
    for (std::size_t s = 0; s < sectors_.size(); ++s)
      if (known(s)) fit_sector(s, shape, left, levels[s]);
  }

  /// Deviations are those of the levels that a fit has found, and large residuals count less from
  /// now on.
  void reweigh(const std::vector<double>& left) {
    for (std::size_t s = 0; s < sectors_.size(); ++s)
      for (const std::size_t i : sectors_[s])
        if (known(s))
          deviation_[i] = deviation_of(
              i, s, samples_[i].light - background_ - left[i] * deviation_[i] / robust_[i]);
    cut_outliers(left);
  }

 private:
  double deviation_of(std::size_t i, std::size_t sector, double light) const {
    const double usual = std::max(light, 0.0) + kFaintest * scale_[sector];
    return std::sqrt(std::max(usual + background_, 1e-12) / samples_[i].weight +
                     std::pow(kModelError * usual, 2));
  }

  void cut_outliers(const std::vector<double>& left) {
    std::vector<double> sizes;
    for (const double each : left) sizes.push_back(std::abs(each));
    const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
    if (sizes.empty()) return;
    std::nth_element(sizes.begin(), middle, sizes.end());
    const double bound = kOutlier * 1.4826 * std::max(*middle, 1e-3);
    for (std::size_t i = 0; i < left.size(); ++i)
      robust_[i] = std::min(1.0, bound / std::max(std::abs(left[i]), 1e-300));
  }

  double scale_of(const std::vector<std::size_t>& members) const {
    std::vector<double> values;
    for (const std::size_t i : members) values.push_back(samples_[i].light);
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[values.size() * 4 / 5] - background_;
  }

  void fit_sector(std::size_t s, const Shape& shape, std::vector<double>& left,
                  std::array<double, kLevels>& levels) const {
    std::array<double, kLevels * kLevels> a{};
    const auto terms = [&](const Sample& at) {
      const double distance = std::hypot(at.row - shape[0], at.col - shape[1]);
      const double edge = edge_of(distance, shape[2], shape[3]);
      const double along = (distance - shape[2]) / reach_;
      return std::array<double, kLevels>{edge, edge * along, 1 - edge, (1 - edge) * along};
    };
    double total = 0;
    static thread_local std::vector<std::array<double, kLevels>> kept;
    kept.clear();
    for (const std::size_t i : sectors_[s]) {
      const auto& t = kept.emplace_back(terms(samples_[i]));
      const double weight = std::pow(robust_[i] / deviation_[i], 2);
      total += weight;
      for (int j = 0; j < kLevels; ++j) {
        levels[j] += weight * t[j] * (samples_[i].light - background_);
        for (int k = 0; k < kLevels; ++k) a[j * kLevels + k] += weight * t[j] * t[k];
      }
    }
    for (const int slope : {1, 3}) a[slope * kLevels + slope] += kSlopePrior * total;
    for (const int level : {0, 2}) a[level * kLevels + level] += 1e-6 * total;
    solve<kLevels>(a, levels);
    for (std::size_t k = 0; k < sectors_[s].size(); ++k) {
      const std::size_t i = sectors_[s][k];
      const auto& t = kept[k];
      const double fitted = std::inner_product(t.begin(), t.end(), levels.begin(), background_);
      left[i] = robust_[i] * (samples_[i].light - fitted) / deviation_[i];
    }
  }

  std::vector<Sample> samples_;
  double reach_, background_;
  std::vector<std::vector<std::size_t>> sectors_;
  std::vector<double> robust_, deviation_, scale_;
};

double sum_of_squares(const std::vector<double>& left) {
  return std::inner_product(left.begin(), left.end(), left.begin(), 0.0);
}

/// J^T J and J^T r of the free numbers of a shape, by differences.
struct Normal {
  std::array<double, 16> matrix{};
  std::array<double, 4> slope{};
};

Normal normal_of(const Rim& rim, const Shape& shape, const std::vector<double>& left, int free) {
  std::array<std::vector<double>, 4> column;
  std::vector<std::array<double, kLevels>> levels;
  for (int p = 0; p < free; ++p) {
    Shape moved = shape;
    const double step = 0.02 * (p == 3 ? shape[3] : 1);
    moved[p] += step;
    rim.residuals(moved, column[p], levels);
    for (std::size_t i = 0; i < left.size(); ++i) column[p][i] = (column[p][i] - left[i]) / step;
  }
  Normal normal;
  for (int p = 0; p < 4; ++p)
    for (int q = 0; q < 4; ++q)
      normal.matrix[p * 4 + q] =
          p < free && q < free
              ? std::inner_product(column[p].begin(), column[p].end(), column[q].begin(), 0.0)
              : static_cast<double>(p == q);
  for (int p = 0; p < free; ++p)
    normal.slope[p] = std::inner_product(column[p].begin(), column[p].end(), left.begin(), 0.0);
  return normal;
}

Shape within(Shape shape, const Circle& start, double reach) {
  const double most = std::max(1.0, 0.7 * reach);
  shape[0] = std::clamp(shape[0], start.row - most, start.row + most);
  shape[1] = std::clamp(shape[1], start.col - most, start.col + most);
  shape[2] = std::clamp(shape[2], std::max(1.0, start.radius - most), start.radius + most);
  shape[3] = std::clamp(shape[3], kSmallestBlur,
                        std::max(kSmallestBlur, kLargestBlurOfRadius * start.radius));
  return shape;
}

/// Levenberg and Marquardt's.
Shape fitted(Rim& rim, Shape shape, const Circle& start, double reach, int free) {
  std::vector<double> left, tried;
  std::vector<std::array<double, kLevels>> levels;
  double damping = 1e-3;
  rim.residuals(shape, left, levels);
  double best = sum_of_squares(left);
  for (int step = 0; step < kMostSteps; ++step) {
    if (step == 3 || step == 6) {
      rim.reweigh(left);
      rim.residuals(shape, left, levels);
      best = sum_of_squares(left);
    }
    Normal normal = normal_of(rim, shape, left, free);
    bool better = false;
    double moved = 0;
    for (int attempt = 0; attempt < 6 && !better; ++attempt) {
      std::array<double, 16> a = normal.matrix;
      std::array<double, 4> x = normal.slope;
      for (int p = 0; p < 4; ++p) a[p * 5] *= 1 + damping;
      solve<4>(a, x);
      Shape next = shape;
      for (int p = 0; p < free; ++p) next[p] -= x[p];
      next = within(next, start, reach);
      rim.residuals(next, tried, levels);
      const double now = sum_of_squares(tried);
      better = now < best;
      if (better) {
        moved = 0;
        for (int p = 0; p < free; ++p) moved = std::max(moved, std::abs(next[p] - shape[p]));
        shape = next;
        best = now;
        left = tried;
      }
      damping = better ? damping * 0.3 : damping * 10;
    }
    if (step > 7 && (!better || moved < 1e-3)) break;
    if (!better) damping = 1e-2;
  }
  return shape;
}

double error_of_radius(const Normal& normal, double variance) {
  std::array<double, 16> a = normal.matrix;
  std::array<double, 4> x{0, 0, 1, 0};
  solve<4>(a, x);
  return std::sqrt(std::max(0.0, variance * x[2]));
}

}  // namespace

DiskEdge fit_disk_edge(const std::vector<PlacedImage>& images, const Circle& start, double blur,
                       const LightLevels& light, const EdgeFit& how) {
  const double reach = std::max(how.least_reach, 4 * blur + 1.5);
  std::vector<Sample> samples =
      annulus(images, start, std::max(0.0, start.radius - reach), start.radius + reach);
  thin_out(samples, how.most_samples);
  Rim rim(std::move(samples), start, reach, light);
  const int free = how.hold_shape ? 2 : 4;
  const Shape shape = fitted(rim, within({start.row, start.col, start.radius, blur}, start, reach),
                             start, reach, free);
  std::vector<double> left;
  std::vector<std::array<double, kLevels>> levels;
  rim.residuals(shape, left, levels);
  const double spare = static_cast<double>(left.size()) - 4.0 * static_cast<double>(rim.sectors());
  const double variance = sum_of_squares(left) / std::max(spare, 1.0);
  DiskEdge edge{.circle = {shape[0], shape[1], shape[2]}, .blur = shape[3]};
  edge.radius_error = error_of_radius(normal_of(rim, shape, left, free), variance);
  for (std::size_t s = 0; s < rim.sectors(); ++s) {
    if (!rim.known(s)) continue;
    const double inside = std::max(levels[s][0], 0.0) + kFaintLight * light.level,
                 outside = std::max(levels[s][2], 0.0) + kFaintLight * light.level;
    const double fall = std::log(inside / outside);
    edge.drop += fall / static_cast<double>(rim.sectors());
    edge.share += (fall > kFalls ? 1.0 : 0.0) / static_cast<double>(rim.sectors());
  }
  return edge;
}

}  // namespace ptyche
