// A rectangle of pixels.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace ptyche {

/// Half-open index ranges.
struct Window {
  std::int64_t row_begin = 0, row_end = 0, col_begin = 0, col_end = 0;

  std::int64_t rows() const { return row_end - row_begin; }
  std::int64_t cols() const { return col_end - col_begin; }
  bool operator==(const Window&) const = default;
};

/// A view of the window's pixels of one or more images (..., rows, cols) that hold the window.
inline at::Tensor cut(const at::Tensor& image, const Window& window) {
  return image.narrow(-2, window.row_begin, window.rows())
      .narrow(-1, window.col_begin, window.cols());
}

}  // namespace ptyche
