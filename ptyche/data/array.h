// Plain things about arrays and images: how a message names them, windows, smoothing.
#pragma once

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ptyche {

/// "(516, 64, 64) float32"; "nothing" for an undefined tensor. Made into text where it is
/// formatted, so that a `require` that holds costs nothing.
struct Description {
  const at::Tensor& tensor;
};
inline Description describe(const at::Tensor& tensor) { return {tensor}; }
std::string to_string(const Description& description);

/// "uint8", "float32", "complex64", ...: NumPy's name of a tensor's type.
std::string type_name(at::ScalarType type);

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

/// values (n) float64.
inline std::vector<double> to_vector(const at::Tensor& values) {
  const at::Tensor row = values.contiguous();
  const double* first = row.const_data_ptr<double>();
  return {first, first + row.numel()};
}

}  // namespace ptyche

template <>
struct fmt::formatter<ptyche::Description> : fmt::formatter<std::string> {
  auto format(const ptyche::Description& description, format_context& context) const {
    return fmt::formatter<std::string>::format(to_string(description), context);
  }
};
