#include "ptyche/simulate/dead_leaves.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "ptyche/core/random.h"

namespace ptyche {
namespace {

constexpr double kRadiusMin = 7, kRadiusMax = 40;
// Mean number of leaves over a point; exp(-12) of the canvas stays bare.
constexpr double kLayers = 12;
constexpr std::int64_t kSamples = 4;
// Rows drawn at a time: bounds the memory of the fine canvas and is the unit of parallel work.
constexpr std::int64_t kBandRows = 16;

enum class Shape { disc, rectangle, triangle };

struct Leaf {
  Shape shape;
  double row, col, radius;  // no point is farther from the centre than the radius
  double sine, cosine;      // of the direction of the long axis
  double aspect;            // short axis over long axis
  float levels[2];
};

Leaf draw_leaf(std::int64_t rows, std::int64_t cols, RandomStream stream) {
  Leaf leaf{};
  leaf.shape = static_cast<Shape>(stream.below(3));
  const double ratio = kRadiusMin / kRadiusMax;
  leaf.radius = kRadiusMin / std::sqrt(1 - stream.uniform() * (1 - ratio * ratio));
  const auto coordinate = [&](std::int64_t size) {
    return stream.uniform() * (static_cast<double>(size) + 2 * kRadiusMax) - kRadiusMax;
  };
  leaf.row = coordinate(rows);
  leaf.col = coordinate(cols);
  const double angle = 2 * std::numbers::pi * stream.uniform();
  leaf.sine = std::sin(angle);
  leaf.cosine = std::cos(angle);
  leaf.aspect = leaf.shape == Shape::triangle ? 1 : 0.4 + 0.6 * stream.uniform();
  for (float& level : leaf.levels) level = static_cast<float>(stream.uniform());
  return leaf;
}

/// Mean area of a leaf in px^2: E[r^2] of the r^-3 law times the mean over the three shapes' area /
/// r^2.
double mean_leaf_area() {
  const double ratio = kRadiusMax / kRadiusMin;
  const double mean_square =
      2 * std::log(ratio) * kRadiusMin * kRadiusMin / (1 - 1 / (ratio * ratio));
  const double disc = 0.7 * std::numbers::pi;
  const double rectangle = 4 * (0.7 / (1 + 0.7 * 0.7));
  const double triangle = 0.75 * std::numbers::sqrt3;
  return mean_square * (disc + rectangle + triangle) / 3;
}

std::vector<Leaf> draw_leaves(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  const double area =
      (static_cast<double>(rows) + 2 * kRadiusMax) * (static_cast<double>(cols) + 2 * kRadiusMax);
  const auto count = static_cast<std::uint64_t>(std::ceil(kLayers * area / mean_leaf_area()));
  std::vector<Leaf> leaves;
  leaves.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i)
    leaves.push_back(draw_leaf(rows, cols, RandomStream(seed, Purpose::object, i)));
  return leaves;
}

bool covers(const Leaf& leaf, double row, double col) {
  const double down = row - leaf.row, right = col - leaf.col;
  const double along = down * leaf.sine + right * leaf.cosine;
  const double across = (down * leaf.cosine - right * leaf.sine) / leaf.aspect;
  switch (leaf.shape) {
    case Shape::disc:
      return along * along + across * across <= leaf.radius * leaf.radius;
    case Shape::rectangle: {
      const double half = leaf.radius / std::sqrt(1 + leaf.aspect * leaf.aspect);
      return std::max(std::abs(along), std::abs(across)) <= half;
    }
    case Shape::triangle: {
      const double slanted = 0.5 * along + 0.5 * std::numbers::sqrt3 * std::abs(across);
      return std::max(-along, slanted) <= 0.5 * leaf.radius;
    }
  }
  return false;
}

/// A strip of the canvas at kSamples samples per pixel and direction; sample s lies at pixel
/// (s + 0.5) / kSamples - 0.5.
struct FineBand {
  std::int64_t first_row, rows, cols;  // in samples
  std::vector<float> levels;           // (rows, cols, 2)

  static double pixel(std::int64_t sample) {
    return (static_cast<double>(sample) + 0.5) / kSamples - 0.5;
  }
  static std::int64_t sample(double pixel) {
    return static_cast<std::int64_t>(std::floor((pixel + 0.5) * kSamples));
  }
  float* at(std::int64_t row, std::int64_t col) {
    return levels.data() + ((row - first_row) * cols + col) * 2;
  }
};

void paint(FineBand& band, const Leaf& leaf) {
  const std::int64_t row_end =
      std::min(FineBand::sample(leaf.row + leaf.radius) + 1, band.first_row + band.rows);
  const std::int64_t col_begin =
      std::max<std::int64_t>(FineBand::sample(leaf.col - leaf.radius), 0);
  const std::int64_t col_end = std::min(FineBand::sample(leaf.col + leaf.radius) + 1, band.cols);
  for (std::int64_t row = std::max(FineBand::sample(leaf.row - leaf.radius), band.first_row);
       row < row_end; ++row)
    for (std::int64_t col = col_begin; col < col_end; ++col)
      if (covers(leaf, FineBand::pixel(row), FineBand::pixel(col)))
        std::copy(leaf.levels, leaf.levels + 2, band.at(row, col));
}

/// Mean of one level over the samples of a pixel.
double pixel_mean(FineBand& band, std::int64_t row, std::int64_t col, int level) {
  double sum = 0;
  for (std::int64_t i = 0; i < kSamples; ++i)
    for (std::int64_t j = 0; j < kSamples; ++j)
      sum += band.at(row * kSamples + i, col * kSamples + j)[level];
  return sum / (kSamples * kSamples);
}

}  // namespace

at::Tensor dead_leaves(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  const std::vector<Leaf> leaves = draw_leaves(rows, cols, seed);
  const at::Tensor levels = at::empty({2, rows, cols}, at::kDouble);
  auto out = levels.accessor<double, 3>();
  const std::int64_t bands = (rows + kBandRows - 1) / kBandRows;
  at::parallel_for(0, bands, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin * kBandRows; first < std::min(end * kBandRows, rows);
         first += kBandRows) {
      const std::int64_t last = std::min(first + kBandRows, rows);
      FineBand band{first * kSamples, (last - first) * kSamples, cols * kSamples, {}};
      band.levels.assign(static_cast<std::size_t>(band.rows * band.cols * 2), 0.5F);
      for (const Leaf& leaf : leaves) paint(band, leaf);
      for (std::int64_t row = first; row < last; ++row)
        for (std::int64_t col = 0; col < cols; ++col)
          for (int level = 0; level < 2; ++level)
            out[level][row][col] = pixel_mean(band, row, col, level);
    }
  });
  return levels;
}

}  // namespace ptyche
