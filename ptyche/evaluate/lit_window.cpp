#include "ptyche/evaluate/lit_window.h"

#include <algorithm>
#include <array>

#include "ptyche/core/log.h"

namespace ptyche {
namespace {

constexpr double enough_lit = 0.99;

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

at::Tensor placed(const at::Tensor& lit, std::int64_t rows, std::int64_t cols, std::int64_t row,
                  std::int64_t col) {
  at::Tensor canvas = at::zeros({rows, cols}, at::kBool);
  const Window there{
      std::clamp<std::int64_t>(row, 0, rows), std::clamp<std::int64_t>(row + lit.size(0), 0, rows),
      std::clamp<std::int64_t>(col, 0, cols), std::clamp<std::int64_t>(col + lit.size(1), 0, cols)};
  const Window here{there.row_begin - row, there.row_end - row, there.col_begin - col,
                    there.col_end - col};
  if (there.rows() > 0 && there.cols() > 0) cut(canvas, there).copy_(cut(lit, here));
  return canvas;
}

Window central_half(std::int64_t rows, std::int64_t cols) {
  return {rows / 4, 3 * rows / 4, cols / 4, 3 * cols / 4};
}

bool large_enough(const Window& window) {
  return window.rows() >= smallest_window_side && window.cols() >= smallest_window_side;
}

Window lit_part(const Window& start, const at::Tensor& lit) {
  const at::Tensor share = lit.to(at::kDouble);
  Window window = start;
  while (large_enough(window) && cut(share, window).mean().item<double>() < enough_lit)
    window = without_darkest_side(share, window);
  return window;
}

std::optional<Window> truth_window(const at::Tensor& truth, const Reconstruction& image) {
  const Window central = central_half(truth.size(0), truth.size(1));
  const Window window = lit_part(central, placed(lit_pixels(image), truth.size(0), truth.size(1),
                                                 image.origin_row, image.origin_col));
  if (!large_enough(window)) return std::nullopt;
  if (window != central)
    note(
        "the truth is compared in rows {}..{} and columns {}..{}: the scan does not light all of "
        "its central half",
        window.row_begin, window.row_end, window.col_begin, window.col_end);
  return window;
}

}  // namespace ptyche
