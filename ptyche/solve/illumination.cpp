#include "ptyche/solve/illumination.h"

#include <ATen/Parallel.h>

#include <functional>

#include "ptyche/data/probe.h"

namespace ptyche {
namespace {

constexpr double kNoticeable = 0.01;    // share of the counts' curvature
constexpr std::int64_t kPatchRows = 8;  // of a patch, that one thread takes at a time

using Pixel = c10::complex<float>;

/// Sum over the corners of value(canvas index) at every pixel of a patch: (size, size).
template <class T, class Value>
at::Tensor gathered(const at::Tensor& corners, std::int64_t size, std::int64_t cols,
                    const Value& value) {
  at::Tensor sum = at::zeros({size, size}, c10::CppTypeToScalarType<T>::value);
  const auto* corner = corners.const_data_ptr<std::int64_t>();
  auto* to = sum.data_ptr<T>();
  at::parallel_for(0, size, kPatchRows, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = 0; k < corners.size(0); ++k)
      for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t from = (corner[2 * k] + row) * cols + corner[2 * k + 1];
        for (std::int64_t col = 0; col < size; ++col) to[row * size + col] += value(from + col);
      }
  });
  return sum;
}

constexpr std::int64_t kObjectRows = 16;  // of the object, that one thread takes at a time

/// Half the value's gradient at one row: every pixel less its neighbours, as many as it has.
/// Returns the squares of its changes to the right and down.
double add_row(const Pixel* object, Pixel* gradient, std::int64_t row, std::int64_t rows,
               std::int64_t cols, float weight) {
  const Pixel* own = object + row * cols;
  const Pixel* above = row > 0 ? own - cols : own;
  const Pixel* below = row + 1 < rows ? own + cols : own;
  Pixel* to = gradient + row * cols;
  float value = 0;
  for (std::int64_t i = 0; i < cols; ++i) {
    const Pixel left = own[i > 0 ? i - 1 : i], right = own[i + 1 < cols ? i + 1 : i];
    to[i] += weight * (4.F * own[i] - above[i] - below[i] - left - right);
    value += std::norm(right - own[i]) + std::norm(below[i] - own[i]);
  }
  return value;
}

}  // namespace

at::Tensor spread_at(const at::Tensor& image, const at::Tensor& corners, std::int64_t rows,
                     std::int64_t cols) {
  at::Tensor sum = at::zeros({rows, cols}, at::kFloat);
  const std::int64_t size = image.size(0);
  const auto* corner = corners.const_data_ptr<std::int64_t>();
  const auto* from = image.const_data_ptr<float>();
  auto* to = sum.data_ptr<float>();
  for (std::int64_t k = 0; k < corners.size(0); ++k)
    for (std::int64_t row = 0; row < size; ++row) {
      float* line = to + (corner[2 * k] + row) * cols + corner[2 * k + 1];
      for (std::int64_t col = 0; col < size; ++col) line[col] += from[row * size + col];
    }
  return sum;
}

at::Tensor gathered_power(const at::Tensor& canvas, const at::Tensor& corners, std::int64_t size) {
  const auto* value = canvas.const_data_ptr<Pixel>();
  return gathered<float>(corners, size, canvas.size(1),
                         [&](std::int64_t i) { return std::norm(value[i]); });
}

at::Tensor gathered_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& corners,
                            std::int64_t size) {
  const auto *left = a.const_data_ptr<Pixel>(), *right = b.const_data_ptr<Pixel>();
  return gathered<Pixel>(corners, size, a.size(1), [&](std::int64_t i) {
    // Spelled out: the product of complex numbers looks for infinities.
    const Pixel x = left[i], y = right[i];
    return Pixel(x.real() * y.real() + x.imag() * y.imag(),
                 x.real() * y.imag() - x.imag() * y.real());
  });
}

double mean_light(const SolverProblem& problem, const SolverState& state) {
  const at::Tensor corners =
      whole_corners(problem, state, at::arange(problem.patterns(), at::kLong));
  const at::Tensor light =
      spread_at(mode_power(state.probe), corners, state.object.size(0), state.object.size(1));
  return light.masked_select(lit_pixels(light, kLitToJudge)).mean().item<double>();
}

double add_smoothness(const at::Tensor& object, double slope, double share, at::Tensor& gradient) {
  const double weight = share / (2 * slope * slope);
  const at::Tensor from = object.contiguous();
  const std::int64_t rows = from.size(0), cols = from.size(1);
  const Pixel* values = from.const_data_ptr<Pixel>();
  Pixel* to = gradient.data_ptr<Pixel>();
  return weight * at::parallel_reduce(
                      0, rows, kObjectRows, 0.0,
                      [&](std::int64_t first, std::int64_t last, double sum) {
                        for (std::int64_t row = first; row < last; ++row)
                          sum +=
                              add_row(values, to, row, rows, cols, static_cast<float>(2 * weight));
                        return sum;
                      },
                      std::plus<double>());
}

bool smoothness_matters(double slope, double light) {
  return slope > 0 && 4 / (slope * slope) > kNoticeable * 2 * light;
}

}  // namespace ptyche
