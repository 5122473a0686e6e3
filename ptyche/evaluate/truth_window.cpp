#include "ptyche/evaluate/truth_window.h"

#include <algorithm>
#include <array>

#include "ptyche/core/log.h"

namespace ptyche {
namespace {

constexpr std::int64_t smallest_side = 16;
constexpr double enough_lit = 0.99;

/// What the image lights, on the truth's pixels: (rows, cols) float64, 1 = lit.
at::Tensor lit_on_truth(const at::Tensor& truth, const Reconstruction& image) {
  at::Tensor on_truth = at::zeros({truth.size(0), truth.size(1)}, at::kDouble);
  const at::Tensor lit = lit_pixels(image);
  const auto overlap_begin = [](std::int64_t origin) { return std::max<std::int64_t>(origin, 0); };
  const std::int64_t row = overlap_begin(image.origin_row), col = overlap_begin(image.origin_col);
  const std::int64_t rows = std::min(truth.size(0), image.origin_row + lit.size(0)) - row;
  const std::int64_t cols = std::min(truth.size(1), image.origin_col + lit.size(1)) - col;
  if (rows > 0 && cols > 0)
    on_truth.narrow(0, row, rows)
        .narrow(1, col, cols)
        .copy_(lit.narrow(0, row - image.origin_row, rows).narrow(1, col - image.origin_col, cols));
  return on_truth;
}

/// The window without that one of its four outermost lines which is lit least.
Window without_darkest_side(const at::Tensor& lit, const Window& window) {
  const at::Tensor part = cut(lit, window);
  const at::Tensor by_row = part.mean(1), by_col = part.mean(0);
  const std::array<double, 4> sides{by_row[0].item<double>(), by_row[-1].item<double>(),
                                    by_col[0].item<double>(), by_col[-1].item<double>()};
  Window smaller = window;
  switch (std::min_element(sides.begin(), sides.end()) - sides.begin()) {
    case 0:
      ++smaller.row_begin;
      break;
    case 1:
      --smaller.row_end;
      break;
    case 2:
      ++smaller.col_begin;
      break;
    default:
      --smaller.col_end;
  }
  return smaller;
}

}  // namespace

at::Tensor lit_pixels(const Reconstruction& image) {
  if (!image.coverage.defined())
    return at::ones({image.object.size(0), image.object.size(1)}, at::kBool);
  return image.coverage.gt(lit_coverage);
}

std::optional<Window> truth_window(const at::Tensor& truth, const Reconstruction& image) {
  const at::Tensor lit = lit_on_truth(truth, image);
  const std::int64_t rows = truth.size(0), cols = truth.size(1);
  const Window central{rows / 4, 3 * rows / 4, cols / 4, 3 * cols / 4};
  Window window = central;
  while (window.rows() >= smallest_side && window.cols() >= smallest_side) {
    if (cut(lit, window).mean().item<double>() >= enough_lit) {
      if (window != central)
        note(
            "the truth is compared in rows {}..{} and columns {}..{}: the scan does not light all "
            "of its central half",
            window.row_begin, window.row_end, window.col_begin, window.col_end);
      return window;
    }
    window = without_darkest_side(lit, window);
  }
  return std::nullopt;
}

}  // namespace ptyche
