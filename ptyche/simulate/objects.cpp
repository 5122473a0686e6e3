#include "ptyche/simulate/objects.h"

#include <ATen/Parallel.h>

#include <array>
#include <cmath>
#include <complex>
#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/core/random.h"
#include "ptyche/simulate/dead_leaves.h"
#include "ptyche/simulate/line_drawing.h"
#include "ptyche/simulate/object_image.h"

namespace ptyche {
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

/// A Gaussian field of power spectrum |q|^-3 (natural pictures: 2; smoother ones: 4), periodic on
/// the canvas, whose values are spread evenly over 0..1 by the normal distribution function.
at::Tensor random_field(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  constexpr double kExponent = 3;
  const at::Tensor frequency = at::hypot(at::fft_fftfreq(rows, 1.0, at::kDouble).unsqueeze(1),
                                         at::fft_rfftfreq(cols, 1.0, at::kDouble).unsqueeze(0));
  at::Tensor gain = frequency.pow(-0.5 * kExponent);
  gain[0][0] = 0;
  const at::Tensor spectrum = at::fft_rfft2(white_noise(rows, cols, seed)) * gain;
  const at::Tensor field = at::fft_irfft2(spectrum, at::IntArrayRef{rows, cols});
  const at::Tensor deviation = field.pow(2).mean({1, 2}, true).sqrt().clamp_min(1e-300);
  return 0.5 * (1 + at::erf(field / (std::numbers::sqrt2 * deviation)));
}

at::Tensor levels_of(const ObjectOptions& options) {
  const std::int64_t rows = options.rows, cols = options.cols;
  if (options.kind == "dead-leaves") return dead_leaves(rows, cols, options.seed);
  if (options.kind == "siemens-star") return siemens_star(rows, cols);
  if (options.kind == "bars") return bars(rows, cols);
  if (options.kind == "lines") return lines(rows, cols, options.seed);
  if (options.kind == "random-field") return random_field(rows, cols, options.seed);
  if (options.kind == "image") return image_levels(options.file, options.phase_file, rows, cols);
  throw InvalidInput(
      fmt::format("object: expected dead-leaves, siemens-star, bars, lines, random-field or image, "
                  "found '{}'",
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

void check(const ObjectOptions& options) {
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
  check(options);
  const at::Tensor levels = levels_of(options);
  const bool one = one_material(options);
  const at::Tensor phase = options.phase_range_rad * (levels[one ? 0 : 1] - 0.5);
  return at::polar(one ? absorbed(levels[0], options) : between(levels[0], options), phase)
      .to(at::kComplexFloat);
}

}  // namespace ptyche
