#include "ptyche/solve/smoothness.h"

#include <ATen/Parallel.h>

#include <functional>

namespace ptyche {
namespace {

constexpr double kNoticeable = 0.01;
constexpr std::int64_t kRows = 16;  // of the object, that one thread takes at a time

using Pixel = c10::complex<float>;

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

double add_smoothness(const at::Tensor& object, double slope, double share, at::Tensor& gradient) {
  const double weight = share / (2 * slope * slope);
  const at::Tensor from = object.contiguous();
  const std::int64_t rows = from.size(0), cols = from.size(1);
  const Pixel* values = from.const_data_ptr<Pixel>();
  Pixel* to = gradient.data_ptr<Pixel>();
  return weight * at::parallel_reduce(
                      0, rows, kRows, 0.0,
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
