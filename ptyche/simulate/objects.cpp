#include "ptyche/simulate/objects.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <numbers>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/random.h"
#include "ptyche/data/array.h"
#include "ptyche/storage/file_array.h"

namespace ptyche {

namespace {

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

Leaf draw_leaf(std::int64_t rows, std::int64_t cols, const LeafSizes& sizes, RandomStream stream) {
  Leaf leaf{};
  leaf.shape = static_cast<Shape>(stream.below(3));
  const double ratio = sizes.smallest / sizes.largest;
  leaf.radius = sizes.smallest / std::sqrt(1 - stream.uniform() * (1 - ratio * ratio));
  const auto coordinate = [&](std::int64_t size) {
    return stream.uniform() * (static_cast<double>(size) + 2 * sizes.largest) - sizes.largest;
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
double mean_leaf_area(const LeafSizes& sizes) {
  const double ratio = sizes.largest / sizes.smallest;
  const double mean_square =
      2 * std::log(ratio) * sizes.smallest * sizes.smallest / (1 - 1 / (ratio * ratio));
  const double disc = 0.7 * std::numbers::pi;
  const double rectangle = 4 * (0.7 / (1 + 0.7 * 0.7));
  const double triangle = 0.75 * std::numbers::sqrt3;
  return mean_square * (disc + rectangle + triangle) / 3;
}

std::vector<Leaf> draw_leaves(std::int64_t rows, std::int64_t cols, std::uint64_t seed,
                              const LeafSizes& sizes) {
  const double area = (static_cast<double>(rows) + 2 * sizes.largest) *
                      (static_cast<double>(cols) + 2 * sizes.largest);
  const auto count = static_cast<std::uint64_t>(std::ceil(kLayers * area / mean_leaf_area(sizes)));
  std::vector<Leaf> leaves;
  leaves.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i)
    leaves.push_back(draw_leaf(rows, cols, sizes, RandomStream(seed, Purpose::object, i)));
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
  std::vector<char> painted;           // (rows, cols)
  std::int64_t left = rows * cols;     // samples that are not painted

  static double pixel(std::int64_t sample) {
    return (static_cast<double>(sample) + 0.5) / kSamples - 0.5;
  }
  static std::int64_t sample(double pixel) {
    return static_cast<std::int64_t>(std::floor((pixel + 0.5) * kSamples));
  }
  std::int64_t place(std::int64_t row, std::int64_t col) const {
    return (row - first_row) * cols + col;
  }
  float* at(std::int64_t row, std::int64_t col) { return levels.data() + 2 * place(row, col); }
};

/// What lies on top is painted first, so that most of the samples below need not be looked at.
void paint(FineBand& band, const Leaf& leaf) {
  const std::int64_t row_end =
      std::min(FineBand::sample(leaf.row + leaf.radius) + 1, band.first_row + band.rows);
  const std::int64_t col_begin =
      std::max<std::int64_t>(FineBand::sample(leaf.col - leaf.radius), 0);
  const std::int64_t col_end = std::min(FineBand::sample(leaf.col + leaf.radius) + 1, band.cols);
  for (std::int64_t row = std::max(FineBand::sample(leaf.row - leaf.radius), band.first_row);
       row < row_end; ++row)
    for (std::int64_t col = col_begin; col < col_end; ++col) {
      char& painted = band.painted[static_cast<std::size_t>(band.place(row, col))];
      if (painted || !covers(leaf, FineBand::pixel(row), FineBand::pixel(col))) continue;
      std::copy(leaf.levels, leaf.levels + 2, band.at(row, col));
      painted = 1;
      --band.left;
    }
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

at::Tensor dead_leaves(std::int64_t rows, std::int64_t cols, std::uint64_t seed,
                       const LeafSizes& sizes) {
  require(sizes.smallest > 0 && sizes.smallest < sizes.largest,
          "leaves: expected radii with 0 < smallest < largest, found {} and {}", sizes.smallest,
          sizes.largest);
  const std::vector<Leaf> leaves = draw_leaves(rows, cols, seed, sizes);
  const at::Tensor levels = at::empty({2, rows, cols}, at::kDouble);
  auto out = levels.accessor<double, 3>();
  const std::int64_t bands = (rows + kBandRows - 1) / kBandRows;
  at::parallel_for(0, bands, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin * kBandRows; first < std::min(end * kBandRows, rows);
         first += kBandRows) {
      const std::int64_t last = std::min(first + kBandRows, rows);
      FineBand band{first * kSamples, (last - first) * kSamples, cols * kSamples, {}, {}};
      band.levels.assign(static_cast<std::size_t>(band.rows * band.cols * 2), 0.5F);
      band.painted.assign(static_cast<std::size_t>(band.rows * band.cols), 0);
      for (auto leaf = leaves.rbegin(); leaf != leaves.rend() && band.left > 0; ++leaf)
        paint(band, *leaf);
      for (std::int64_t row = first; row < last; ++row)
        for (std::int64_t col = 0; col < cols; ++col)
          for (int level = 0; level < 2; ++level)
            out[level][row][col] = pixel_mean(band, row, col, level);
    }
  });
  return levels;
}

namespace {

/// The largest central part whose sides are as rows : cols.
at::Tensor central_part(const at::Tensor& image, std::int64_t rows, std::int64_t cols) {
  const double scale = std::min(static_cast<double>(image.size(0)) / static_cast<double>(rows),
                                static_cast<double>(image.size(1)) / static_cast<double>(cols));
  const auto narrow = [&](const at::Tensor& from, std::int64_t axis, std::int64_t length) {
    const auto part = static_cast<std::int64_t>(std::lround(scale * static_cast<double>(length)));
    const std::int64_t size = std::clamp<std::int64_t>(part, 1, from.size(axis));
    return from.narrow(axis, (from.size(axis) - size) / 2, size);
  };
  return narrow(narrow(image, 0, rows), 1, cols);
}

at::Tensor resized_levels(const std::filesystem::path& file, std::int64_t rows, std::int64_t cols) {
  const at::Tensor part = central_part(read_image(file), rows, cols).contiguous();
  const at::Tensor stack = part.view({1, 1, part.size(0), part.size(1)});
  return as_levels(at::_upsample_bilinear2d_aa(stack, at::IntArrayRef{rows, cols},
                                               /*align_corners=*/false)[0][0]);
}

}  // namespace

at::Tensor as_levels(const at::Tensor& values) {
  const at::Tensor low = values.min(), range = values.max() - low;
  if (range.item<double>() == 0) return at::ones_like(values);
  return (values - low) / range;
}

at::Tensor image_levels(const std::filesystem::path& file, const std::filesystem::path& phase_file,
                        std::int64_t rows, std::int64_t cols) {
  const at::Tensor amplitude = resized_levels(file, rows, cols);
  const at::Tensor phase = phase_file.empty() ? amplitude : resized_levels(phase_file, rows, cols);
  return at::stack({amplitude, phase});
}

namespace {

/// Mean of `inside(row, col)` over 4 x 4 points of every pixel, as levels (2, rows, cols): what is
/// inside is dark and advanced in phase.
template <typename Inside>
at::Tensor draw(std::int64_t rows, std::int64_t cols, Inside inside) {
  constexpr int kSamples = 4;
  const at::Tensor levels = at::empty({2, rows, cols}, at::kDouble);
  auto out = levels.accessor<double, 3>();
  const auto sample = [](std::int64_t pixel, int i) {
    return static_cast<double>(pixel) + (i + 0.5) / kSamples - 0.5;
  };
  at::parallel_for(0, rows, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      for (std::int64_t col = 0; col < cols; ++col) {
        int hits = 0;
        for (int i = 0; i < kSamples; ++i)
          for (int j = 0; j < kSamples; ++j) hits += inside(sample(row, i), sample(col, j)) ? 1 : 0;
        const double covered = static_cast<double>(hits) / (kSamples * kSamples);
        out[0][row][col] = 1 - covered;
        out[1][row][col] = covered;
      }
  });
  return levels;
}

at::Tensor siemens_star(std::int64_t rows, std::int64_t cols) {
  constexpr double kSpokes = 32;
  const double centre_row = 0.5 * static_cast<double>(rows - 1);
  const double centre_col = 0.5 * static_cast<double>(cols - 1);
  const double radius = 0.45 * static_cast<double>(std::min(rows, cols));
  return draw(rows, cols, [=](double row, double col) {
    const double down = row - centre_row, right = col - centre_col;
    return std::hypot(down, right) < radius && std::sin(kSpokes * std::atan2(down, right)) > 0;
  });
}

at::Tensor bars(std::int64_t rows, std::int64_t cols) {
  constexpr double kTile = 48, kBorder = 4;
  constexpr std::array<double, 8> kPeriods = {16, 12, 8, 6, 5, 4, 3, 2.5};
  return draw(rows, cols, [=](double row, double col) {
    const auto tile_row = static_cast<std::int64_t>(std::max(row, 0.0) / kTile);
    const auto tile_col = static_cast<std::int64_t>(std::max(col, 0.0) / kTile);
    const double down = row - kTile * static_cast<double>(tile_row);
    const double right = col - kTile * static_cast<double>(tile_col);
    if (std::min(down, right) < kBorder || std::max(down, right) > kTile - kBorder) return false;
    const double period = kPeriods[static_cast<std::size_t>((3 * tile_row + tile_col) % 8)];
    const double angle =
        0.25 * std::numbers::pi * static_cast<double>((tile_row + 2 * tile_col) % 4);
    const double across = down * std::cos(angle) + right * std::sin(angle);
    return across / period - std::floor(across / period) < 0.5;
  });
}

/// Two drawings, of the seed and of another that follows from it.
at::Tensor lines(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  const std::int64_t size = std::max<std::int64_t>({rows, cols, 2});
  std::vector<at::Tensor> levels;
  for (const std::uint64_t own : {seed, seed + 0x9e3779b9U}) {
    const at::Tensor drawing = line_drawing(size, static_cast<std::uint32_t>(own));
    levels.push_back(as_levels(drawing.narrow(0, 0, rows).narrow(1, 0, cols)));
  }
  return at::stack(levels);
}

/// White noise, one stream per row of one of the two fields.
at::Tensor white_noise(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  const at::Tensor noise = at::empty({2, rows, cols}, at::kDouble);
  auto out = noise.accessor<double, 3>();
  for (std::int64_t field = 0; field < 2; ++field)
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto index = static_cast<std::uint64_t>(field * rows + row);
      RandomStream stream(seed, Purpose::object, index);
      for (std::int64_t col = 0; col < cols; ++col) out[field][row][col] = stream.normal();
    }
  return noise;
}

/// Two Gaussian fields of power spectrum |q|^-exponent, periodic on the canvas.
at::Tensor gaussian_fields(std::int64_t rows, std::int64_t cols, std::uint64_t seed,
                           double exponent) {
  const at::Tensor frequency = at::hypot(at::fft_fftfreq(rows, 1.0, at::kDouble).unsqueeze(1),
                                         at::fft_rfftfreq(cols, 1.0, at::kDouble).unsqueeze(0));
  at::Tensor gain = frequency.pow(-0.5 * exponent);
  gain[0][0] = 0;
  const at::Tensor spectrum = at::fft_rfft2(white_noise(rows, cols, seed)) * gain;
  return at::fft_irfft2(spectrum, at::IntArrayRef{rows, cols});
}

/// Of each of two fields of mean 0, (2, 1, 1).
at::Tensor deviation_of(const at::Tensor& fields) {
  return fields.pow(2).mean({1, 2}, true).sqrt().clamp_min(1e-300);
}

/// Fields of power spectrum |q|^-3 (natural pictures: 2; smoother ones: 4) whose values are spread
/// evenly over 0..1 by the normal distribution function.
at::Tensor random_field(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  constexpr double kExponent = 3;
  const at::Tensor field = gaussian_fields(rows, cols, seed, kExponent);
  return 0.5 * (1 + at::erf(field / (std::numbers::sqrt2 * deviation_of(field))));
}

/// Adds a Gaussian column at (row, col) px to a picture.
void add_column(at::TensorAccessor<double, 2>& picture, double row, double col, double height) {
  constexpr double kWidth = 1.4, kReach = 4;  // standard deviation, px; deviations
  const auto near = [&](double middle, std::int64_t size) {
    const double reach = kReach * kWidth;
    return std::array{
        std::clamp<std::int64_t>(std::llround(middle - reach), 0, size),
        std::clamp<std::int64_t>(std::llround(middle + reach) + 1, 0, size),
    };
  };
  const auto profile = [](std::int64_t pixel, double middle) {
    return std::exp(-0.5 * std::pow((static_cast<double>(pixel) - middle) / kWidth, 2));
  };
  const auto rows = near(row, picture.size(0)), cols = near(col, picture.size(1));
  for (std::int64_t r = rows[0]; r < rows[1]; ++r) {
    const double own = height * profile(r, row);
    for (std::int64_t c = cols[0]; c < cols[1]; ++c) picture[r][c] += own * profile(c, col);
  }
}

/// The two columns of a cell of a turned hexagonal lattice, a heavy and a light one, of which one
/// in twenty is missing.
void add_cell(at::TensorAccessor<double, 2>& picture, double i, double j, RandomStream stream) {
  constexpr double kCell = 9, kTurn = 0.12, kMissing = 0.05;  // px, rad, share
  for (const auto& [height, place] : {std::pair(1.0, 0.0), std::pair(0.7, 1.0 / 3)}) {
    if (stream.uniform() < kMissing) continue;
    const double a = i + place, b = j + place;
    const double down = kCell * (a + 0.5 * b), right = kCell * std::sqrt(0.75) * b;
    add_column(picture, std::cos(kTurn) * down - std::sin(kTurn) * right,
               std::sin(kTurn) * down + std::cos(kTurn) * right, height);
  }
}

at::Tensor crystal(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  const at::Tensor thickness = at::zeros({rows, cols}, at::kDouble);
  auto picture = thickness.accessor<double, 2>();
  const std::int64_t reach = (rows + cols) / 7 + 2;  // cells, beyond every corner
  for (std::int64_t i = -reach; i <= reach; ++i)
    for (std::int64_t j = -reach; j <= reach; ++j) {
      const auto cell = static_cast<std::uint64_t>((i + reach) * (2 * reach + 1) + j + reach);
      add_cell(picture, static_cast<double>(i), static_cast<double>(j),
               RandomStream(seed, Purpose::object, cell));
    }
  const at::Tensor level = as_levels(thickness);
  return at::stack({1 - level, level});
}

}  // namespace

at::Tensor photograph_like(std::int64_t rows, std::int64_t cols, std::uint64_t seed,
                           double smallest) {
  constexpr double kFine = 2, kSlow = 4;          // exponents of natural pictures and of shading
  constexpr double kTexture = 0.3, kShade = 0.2;  // strongest, over the levels' range
  std::vector<at::Tensor> pictures;
  for (const std::uint64_t own : {seed, seed ^ 0x5bd1e995U}) {
    const at::Tensor leaves = dead_leaves(rows, cols, own, {smallest, 12 * smallest});
    const at::Tensor fine = gaussian_fields(rows, cols, own + 1, kFine);
    const at::Tensor slow = gaussian_fields(rows, cols, own + 2, kSlow);
    pictures.push_back(as_levels(leaves[0] +
                                 kTexture * leaves[1].square() * (fine / deviation_of(fine))[0] +
                                 kShade * (slow / deviation_of(slow))[0]));
  }
  return at::stack(pictures);
}

namespace {

at::Tensor levels_of(const ObjectOptions& options) {
  const std::int64_t rows = options.rows, cols = options.cols;
  if (options.kind == "dead-leaves") return dead_leaves(rows, cols, options.seed, options.leaves);
  if (options.kind == "siemens-star") return siemens_star(rows, cols);
  if (options.kind == "bars") return bars(rows, cols);
  if (options.kind == "lines") return lines(rows, cols, options.seed);
  if (options.kind == "random-field") return random_field(rows, cols, options.seed);
  if (options.kind == "crystal") return crystal(rows, cols, options.seed);
  if (options.kind == "photograph")
    return photograph_like(rows, cols, options.seed, options.leaves.smallest);
  if (options.kind == "image") return image_levels(options.file, options.phase_file, rows, cols);
  throw InvalidInput(
      fmt::format("object: expected dead-leaves, siemens-star, bars, lines, random-field, "
                  "photograph, crystal or image, found '{}'",
                  options.kind));
}

/// Amplitudes for levels 0..1, evenly between the smallest and the largest.
at::Tensor between(const at::Tensor& level, const ObjectOptions& options) {
  return options.amplitude_min + (options.amplitude_max - options.amplitude_min) * level;
}

/// Amplitudes behind a thickness of 1 - level of one material (Lambert-Beer).
at::Tensor absorbed(const at::Tensor& level, const ObjectOptions& options) {
  return options.amplitude_max *
         at::exp((1 - level) * std::log(options.amplitude_min / options.amplitude_max));
}

/// One level for amplitude and phase.
bool one_material(const ObjectOptions& options) {
  return options.material == "one" && options.phase_file.empty();
}

void check_object_options(const ObjectOptions& options) {
  require(options.material == "one" || options.material == "independent",
          "material: expected one or independent, found {}", options.material);
  const bool image = options.kind == "image";
  require(!image || !options.file.empty(), "object 'image': expected a file, found none");
  require(image || (options.file.empty() && options.phase_file.empty()),
          "object '{}': expected no file, for only 'image' has one, found '{}' and '{}'",
          options.kind, options.file.string(), options.phase_file.string());
  require(!one_material(options) || options.amplitude_min > 0,
          "amplitude_min: expected more than 0 for one material, found {}", options.amplitude_min);
  require(options.rows >= 1 && options.cols >= 1,
          "object size: expected at least 1 x 1 pixels, found {} x {}", options.rows, options.cols);
  require(options.amplitude_min >= 0 && options.amplitude_min <= options.amplitude_max &&
              std::isfinite(options.amplitude_max),
          "amplitude_min, amplitude_max: expected 0 <= min <= max, found {} and {}",
          options.amplitude_min, options.amplitude_max);
  require(options.phase_range_rad >= 0 && options.phase_range_rad <= 2 * std::numbers::pi,
          "phase_range_rad: expected 0 to 2 pi, found {}", options.phase_range_rad);
}

}  // namespace

at::Tensor make_object(const ObjectOptions& options) {
  check_object_options(options);
  const at::Tensor levels = levels_of(options);
  const bool one = one_material(options);
  const at::Tensor phase = options.phase_range_rad * (levels[one ? 0 : 1] - 0.5);
  return at::polar(one ? absorbed(levels[0], options) : between(levels[0], options), phase)
      .to(at::kComplexFloat);
}

namespace {

constexpr int kLines = 400;

/// Marks the pixels of one line. Along the longer direction every step is one pixel; the other
/// coordinate follows when the line has gone half a pixel or more beyond it.
void draw(at::TensorAccessor<double, 2> raster, const LineEnds& ends) {
  const std::int64_t down = std::abs(ends[2] - ends[0]), right = std::abs(ends[3] - ends[1]);
  const bool steep = down > right;
  const std::int64_t length = steep ? down : right, rise = steep ? right : down;
  const std::int64_t row_step = ends[2] > ends[0] ? 1 : -1, col_step = ends[3] > ends[1] ? 1 : -1;
  std::int64_t row = ends[0], col = ends[1], beyond = 2 * rise - length;
  for (std::int64_t i = 0; i < length; ++i) {
    raster[row][col] = 1;
    if (beyond >= 0) {
      (steep ? col : row) += steep ? col_step : row_step;
      beyond -= 2 * length;
    }
    (steep ? row : col) += steep ? row_step : col_step;
    beyond += 2 * rise;
  }
  raster[ends[2]][ends[3]] = 1;
}

}  // namespace

double mersenne_uniform(std::mt19937& generator) {
  const double high = static_cast<double>(generator() >> 5U);
  const double low = static_cast<double>(generator() >> 6U);
  return (high * 67108864.0 + low) / 9007199254740992.0;  // 2^26, 2^53
}

std::vector<LineEnds> line_ends(std::int64_t size, std::uint32_t seed) {
  require(size >= 2, "line drawing: expected a size of at least 2, found {}", size);
  std::mt19937 generator(seed);
  std::vector<LineEnds> lines(kLines);
  for (LineEnds& ends : lines)
    for (std::int64_t& end : ends)
      end = static_cast<std::int64_t>(2 * static_cast<double>(size) * mersenne_uniform(generator));
  return lines;
}

at::Tensor line_raster(std::int64_t size, std::uint32_t seed) {
  at::Tensor raster = at::zeros({2 * size, 2 * size}, at::kDouble);
  for (const LineEnds& ends : line_ends(size, seed)) draw(raster.accessor<double, 2>(), ends);
  return raster;
}

at::Tensor line_drawing(std::int64_t size, std::uint32_t seed) {
  const at::Tensor raster = line_raster(size, seed);
  const at::Tensor blurred =
      gaussian_filter(raster, 1) + 2 * gaussian_filter(raster, 5) + 5 * gaussian_filter(raster, 10);
  return blurred.narrow(0, size / 2, size).narrow(1, size / 2, size).contiguous();
}

at::Tensor phase_of_drawing(const at::Tensor& amplitude) {
  return std::numbers::pi * at::tanh((amplitude - 0.5 * amplitude.max()) / (3 * amplitude.mean()));
}

}  // namespace ptyche
