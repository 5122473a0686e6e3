#include "ptyche/evaluate/coarse_alignment.h"

#include <algorithm>
#include <cmath>

namespace ptyche {
namespace {

/// sin(pi x)^power over a grid of the given size, 0 < x < 1 at pixel centres.
at::Tensor sine_window(std::int64_t rows, std::int64_t cols, double power) {
  const auto along = [&](std::int64_t size) {
    const at::Tensor x = (at::arange(size, at::kDouble) + 0.5) / static_cast<double>(size);
    return (M_PI * x).sin().pow(power);
  };
  return at::outer(along(rows), along(cols));
}

/// Products of neighbours down and to the right, mean free and faded out at the borders.
std::array<at::Tensor, 2> edge_images(const at::Tensor& image) {
  const std::int64_t rows = image.size(0) - 1, cols = image.size(1) - 1;
  const at::Tensor here = image.narrow(0, 0, rows).narrow(1, 0, cols).conj();
  const at::Tensor window = sine_window(rows, cols, 0.5);
  const auto edges = [&](std::int64_t down, std::int64_t right) {
    const at::Tensor product = image.narrow(0, down, rows).narrow(1, right, cols) * here;
    return (product - product.mean()) * window;
  };
  return {edges(1, 0), edges(0, 1)};
}

}  // namespace

std::array<std::int64_t, 2> peak_of(const at::Tensor& values) {
  const std::int64_t flat = values.argmax().item<std::int64_t>();
  return {flat / values.size(1), flat % values.size(1)};
}

Window widened(const Window& window, std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t by = 32;
  return {std::max<std::int64_t>(window.row_begin - by, 0), std::min(window.row_end + by, rows),
          std::max<std::int64_t>(window.col_begin - by, 0), std::min(window.col_end + by, cols)};
}

std::array<std::int64_t, 2> coarse_shift(const at::Tensor& part, const at::Tensor& image) {
  const std::array<std::int64_t, 2> size{part.size(0) + image.size(0),
                                         part.size(1) + image.size(1)};
  const auto of_part = edge_images(part), of_image = edge_images(image);
  at::Tensor agreement = at::zeros({size[0], size[1]}, at::kDouble);
  for (const std::size_t k : {0, 1}) {
    const at::Tensor product =
        at::fft_fft2(of_part[k], size) * at::fft_fft2(of_image[k], size).conj();
    agreement += at::fft_ifft2(product).abs().square();
  }
  std::array<std::int64_t, 2> shift = peak_of(agreement);
  for (const std::size_t k : {0, 1})
    if (shift[k] >= part.size(static_cast<std::int64_t>(k))) shift[k] -= size[k];
  return shift;
}

std::array<double, 2> strongest_frequency(const at::Tensor& field, std::int64_t padding) {
  const std::array<std::int64_t, 2> size{padding * field.size(0), padding * field.size(1)};
  const std::array<std::int64_t, 2> peak = peak_of(at::fft_fft2(field, size).abs());
  std::array<double, 2> frequency{};
  for (const std::size_t k : {0, 1}) {
    const std::int64_t signed_peak = 2 * peak[k] < size[k] ? peak[k] : peak[k] - size[k];
    frequency[k] = static_cast<double>(signed_peak) / static_cast<double>(size[k]);
  }
  return frequency;
}

std::array<double, 2> coarse_ramp(const at::Tensor& truth, const at::Tensor& image) {
  const at::Tensor window = sine_window(truth.size(0), truth.size(1), 2);
  return strongest_frequency(truth * image.conj() * window, 4);
}

}  // namespace ptyche
