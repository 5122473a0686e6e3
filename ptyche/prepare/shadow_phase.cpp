#include "ptyche/prepare/shadow_phase.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numbers>
#include <utility>
#include <vector>

#include "ptyche/core/parallel.h"
#include "ptyche/data/array.h"

namespace ptyche {
namespace {

using Coefficients = std::array<double, 4>;  // as the members of LensPhase

constexpr std::int64_t kMostPatterns = 100;
constexpr std::int64_t kReaches = 10;
constexpr double kNearestRay = 0.05, kFarthestRay = 0.35, kBeyondRay = 0.4;  // over N
constexpr double kCurvatures[] = {0.5, 0, -0.5, -1};  // of the flatter axis over the other
constexpr int kAxes = 6;
// Defocus over spherical aberration at the rim. Negative ones let rays cross each other.
constexpr double kDefocusToSpherical[] = {-2, -1.6, -1.3, -1, -0.75, -0.5, 0, 1};
constexpr double kRaysInCell = 2;                      // of neighbouring pixels, side by side
constexpr double kAnotherSeed = 0.35;                  // of the larger one's length
constexpr double kSamePhase_rad = 0.5;                 // root mean square over the aperture
constexpr double kFirstStep = 0.25, kLastStep = 0.03;  // of the phase's length
constexpr double kAlongCaustic = -1.4;  // defocus that makes up for spherical aberration
constexpr double kWorthTrying = 0.15;   // of the strongest

double length(const Coefficients& phase) {
  double sum = 0;
  for (const double each : phase) sum += each * each;
  return std::sqrt(sum);
}

Coefficients difference(const Coefficients& a, const Coefficients& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]};
}

Coefficients times(const Coefficients& phase, double factor) {
  return {factor * phase[0], factor * phase[1], factor * phase[2], factor * phase[3]};
}

/// Over a round aperture: variance of u^2 1/12, of u^4 4/45, their covariance 1/12; of the others
/// 1/6.
double deviation(const Coefficients& c) {
  const double even = c[0] * c[0] / 12 + 4 * c[3] * c[3] / 45 + c[0] * c[3] / 6;
  return std::sqrt(std::max(even + (c[1] * c[1] + c[2] * c[2]) / 6, 0.0));
}

/// Of every kind of lens, of any size.
std::vector<Coefficients> kinds_of_lenses() {
  std::vector<Coefficients> all;
  for (const double sign : {1., -1.}) {
    all.push_back({sign, 0, 0, 0});
    for (const double ratio : kCurvatures)
      for (int i = 0; i < kAxes; ++i) {
        const double angle = 2 * std::numbers::pi * i / kAxes, half = sign * (1 - ratio) / 2;
        all.push_back({sign * (1 + ratio) / 2, half * std::cos(angle), half * std::sin(angle), 0});
      }
    for (const double ratio : kDefocusToSpherical) all.push_back({sign * ratio, 0, 0, sign});
  }
  return all;
}

struct Trial {
  Coefficients phase;
  double strength = 0;
};

/// Sums over the sample's cells for one phase; memory that is used again.
struct Cells {
  std::vector<std::int64_t> of_pixel, place, light;  // cell of each pixel; of each cell
  std::vector<float> own;
  std::vector<double> sum, count;
};

class Shadows {
 public:
  Shadows(const at::Tensor& counts, const at::Tensor& positions, const at::Tensor& mean,
          const Aperture& aperture)
      : size_(static_cast<double>(counts.size(1))), radius_px_(aperture.radius_px) {
    const at::Tensor lit = at::nonzero(aperture.lit);
    const at::Tensor flat = lit.select(1, 0) * counts.size(2) + lit.select(1, 1);
    const at::Tensor middle = std::get<0>(positions.median(0));
    const at::Tensor order =
        (positions - middle).square().sum(1).argsort().slice(0, 0, kMostPatterns);
    change_ = shadow_details(counts.index_select(0, order), mean, aperture)
                  .flatten(1)
                  .index_select(1, flat)
                  .contiguous();
    row_ = to_vector((lit.select(1, 0).to(at::kDouble) - aperture.row) / radius_px_);
    col_ = to_vector((lit.select(1, 1).to(at::kDouble) - aperture.col) / radius_px_);
    const at::Tensor near = positions.index_select(0, order);
    at_row_ = to_vector((near.select(1, 0) - near.select(1, 0).min()).contiguous());
    at_col_ = to_vector((near.select(1, 1) - near.select(1, 1).min()).contiguous());
  }

  /// Of the outermost ray, object pixels.
  double reach(const Coefficients& phase) const {
    double farthest = 0;
    for (std::size_t i = 0; i < row_.size(); ++i) {
      const auto [row, col] = ray(phase, i);
      farthest = std::max(farthest, std::hypot(row, col));
    }
    return farthest;
  }

  double cell_of(double reach) const { return std::max(1.0, kRaysInCell * reach / radius_px_); }
  double window() const { return size_; }

  double strength(const Coefficients& phase, double cell, Cells& cells) const {
    const std::int64_t width = lay_out(phase, cell, cells);
    const auto pixels = static_cast<std::int64_t>(row_.size());
    double own = 0, own_count = 0;
    for (const std::int64_t each : cells.light) own_count += static_cast<double>(each * each);
    for (std::int64_t k = 0; k < change_.size(0); ++k) {
      const float* change = change_.const_data_ptr<float>() + k * pixels;
      std::ranges::fill(cells.own, 0.0F);
      for (std::int64_t i = 0; i < pixels; ++i) {
        const auto at = static_cast<std::size_t>(i);
        cells.own[static_cast<std::size_t>(cells.of_pixel[at])] += sign(phase, at) * change[i];
      }
      const auto first =
          static_cast<std::int64_t>(std::lround(at_row_[static_cast<std::size_t>(k)] / cell)) *
              width +
          std::lround(at_col_[static_cast<std::size_t>(k)] / cell);
      for (std::size_t j = 0; j < cells.place.size(); ++j) {
        const auto place = static_cast<std::size_t>(first + cells.place[j]);
        cells.sum[place] += cells.own[j];
        cells.count[place] += static_cast<double>(cells.light[j]);
        own += static_cast<double>(cells.own[j]) * cells.own[j];
      }
    }
    double product = -own, pairs = -own_count * static_cast<double>(change_.size(0));
    for (std::size_t j = 0; j < cells.sum.size(); ++j) {
      product += cells.sum[j] * cells.sum[j];
      pairs += cells.count[j] * cells.count[j];
    }
    return product / std::sqrt(2 * std::max(pairs, 1.0));
  }

 private:
  /// Where it meets the sample, object pixels from the position.
  std::pair<double, double> ray(const Coefficients& c, std::size_t i) const {
    const double row = row_[i], col = col_[i],
                 common = 2 * c[0] + 4 * c[3] * (row * row + col * col);
    const double scale = -size_ / (2 * std::numbers::pi * radius_px_);
    return {scale * ((common + 2 * c[1]) * row + 2 * c[2] * col),
            scale * ((common - 2 * c[1]) * col + 2 * c[2] * row)};
  }

  /// Of the phase's Laplacian.
  float sign(const Coefficients& c, std::size_t i) const {
    return c[0] + 4 * c[3] * (row_[i] * row_[i] + col_[i] * col_[i]) < 0 ? -1.0F : 1.0F;
  }

  /// Numbers the cells that a pattern at the first position lights; the width of the whole.
  std::int64_t lay_out(const Coefficients& phase, double cell, Cells& cells) const;

  double size_, radius_px_;
  at::Tensor change_;                    // (n, pixels) float32
  std::vector<double> row_, col_;        // of each pixel
  std::vector<double> at_row_, at_col_;  // of each pattern, from the outermost
};

std::int64_t Shadows::lay_out(const Coefficients& phase, double cell, Cells& cells) const {
  std::vector<std::int64_t> rows(row_.size()), cols(row_.size());
  for (std::size_t i = 0; i < row_.size(); ++i) {
    const auto [row, col] = ray(phase, i);
    rows[i] = std::lround(row / cell);
    cols[i] = std::lround(col / cell);
  }
  const auto [top, bottom] = std::ranges::minmax(rows);
  const auto [left, right] = std::ranges::minmax(cols);
  const auto farthest = [&](const std::vector<double>& all) {
    return static_cast<std::int64_t>(std::lround(std::ranges::max(all) / cell));
  };
  const std::int64_t width = right - left + 1 + farthest(at_col_);
  const std::int64_t height = bottom - top + 1 + farthest(at_row_);
  std::vector<std::int64_t> number(
      static_cast<std::size_t>((bottom - top + 1) * (right - left + 1)), -1);
  cells.of_pixel.resize(row_.size());
  cells.place.clear();
  cells.light.clear();
  for (std::size_t i = 0; i < row_.size(); ++i) {
    const std::int64_t row = rows[i] - top, col = cols[i] - left;
    std::int64_t& own = number[static_cast<std::size_t>(row * (right - left + 1) + col)];
    if (own < 0) {
      own = std::ssize(cells.place);
      cells.place.push_back(row * width + col);
      cells.light.push_back(0);
    }
    ++cells.light[static_cast<std::size_t>(own)];
    cells.of_pixel[i] = own;
  }
  cells.own.resize(cells.place.size());
  cells.sum.assign(static_cast<std::size_t>(height * width), 0);
  cells.count.assign(static_cast<std::size_t>(height * width), 0);
  return width;
}

void sort(std::vector<Trial>& trials) {
  std::ranges::stable_sort(trials,
                           [](const Trial& a, const Trial& b) { return a.strength > b.strength; });
}

/// Strongest first, those that are not near a stronger one.
std::vector<Trial> seeds(const Shadows& shadows, std::size_t most) {
  const std::vector<Coefficients> kinds = kinds_of_lenses();
  std::vector<Trial> all(kinds.size() * kReaches);
  side_by_side(std::ssize(kinds), [&](std::int64_t i) {
    const Coefficients& kind = kinds[static_cast<std::size_t>(i)];
    const double unit = shadows.reach(kind);
    Cells cells;
    for (std::int64_t j = 0; j < kReaches; ++j) {
      const double reach =
          shadows.window() * kNearestRay *
          std::pow(kFarthestRay / kNearestRay, static_cast<double>(j) / (kReaches - 1));
      const Coefficients phase = times(kind, reach / unit);
      all[static_cast<std::size_t>(i * kReaches + j)] = {
          phase, shadows.strength(phase, shadows.cell_of(reach), cells)};
    }
  });
  sort(all);
  std::vector<Trial> chosen;
  for (const Trial& each : all) {
    const bool known = std::ranges::any_of(chosen, [&](const Trial& other) {
      return length(difference(each.phase, other.phase)) <
             kAnotherSeed * std::max(length(each.phase), length(other.phase));
    });
    if (!known) chosen.push_back(each);
    if (chosen.size() == most) break;
  }
  return chosen;
}

/// Steps along each coefficient, and along those that leave the rim's ray where it is.
Trial climbed(const Shadows& shadows, Trial from) {
  constexpr std::array<Coefficients, 5> kWays{
      {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}, {kAlongCaustic, 0, 0, 1}}};
  Cells cells;
  const double cell = shadows.cell_of(shadows.reach(from.phase));
  from.strength = shadows.strength(from.phase, cell, cells);
  const auto stronger = [&](const Coefficients& way, double step) {
    const Coefficients phase = difference(from.phase, times(way, -step));
    if (shadows.reach(phase) > kBeyondRay * shadows.window()) return false;
    const double strength = shadows.strength(phase, cell, cells);
    if (strength <= from.strength) return false;
    from = {phase, strength};
    return true;
  };
  for (double step = kFirstStep * length(from.phase); step > kLastStep * length(from.phase);) {
    bool moved = false;
    for (const Coefficients& way : kWays) moved |= stronger(way, step) || stronger(way, -step);
    if (!moved) step /= 2;
  }
  return from;
}

}  // namespace

at::Tensor phase_image(const LensPhase& phase, const Aperture& aperture, std::int64_t size) {
  const at::Tensor axis = at::arange(size, at::kDouble);
  const at::Tensor row = ((axis - aperture.row) / aperture.radius_px).unsqueeze(1);
  const at::Tensor col = ((axis - aperture.col) / aperture.radius_px).unsqueeze(0);
  const at::Tensor square = row.square() + col.square();
  return phase.defocus * square + phase.astigmatism * (row.square() - col.square()) +
         2 * phase.oblique * row * col + phase.spherical * square.square();
}

std::vector<PhasePeak> phases_from_shadows(const at::Tensor& counts, const at::Tensor& positions,
                                           const at::Tensor& mean, const Aperture& aperture,
                                           std::size_t most) {
  if (aperture.radius_px < kLeastAperture_px || counts.size(0) < 3) return {};
  const Shadows shadows(counts, positions, mean, aperture);
  std::vector<Trial> trials = seeds(shadows, most);
  side_by_side(std::ssize(trials), [&](std::int64_t i) {
    Trial& each = trials[static_cast<std::size_t>(i)];
    each = climbed(shadows, each);
  });
  sort(trials);
  std::vector<Trial> distinct;
  for (const Trial& each : trials) {
    const bool known = std::ranges::any_of(distinct, [&](const Trial& other) {
      return deviation(difference(each.phase, other.phase)) < kSamePhase_rad;
    });
    const double least = std::max(kLeastStrength, kWorthTrying * trials[0].strength);
    if (!known && each.strength > least) distinct.push_back(each);
  }
  std::vector<PhasePeak> found;
  for (const Trial& each : distinct)
    found.push_back({{each.phase[0], each.phase[1], each.phase[2], each.phase[3]}, each.strength});
  return found;
}

}  // namespace ptyche
