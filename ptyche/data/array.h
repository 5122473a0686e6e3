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

/// Weights of a Gaussian of standard deviation `sigma_px` > 0, cut at `radius` pixels, of sum 1:
/// (2 radius + 1) float64.
at::Tensor gaussian_weights(double sigma_px, std::int64_t radius);

/// Convolution of a real or complex image (rows, cols) with `weights` (n odd) along both axes; only
/// where they fit: (rows - n + 1, cols - n + 1). The same for any thread count.
at::Tensor separable_mean(const at::Tensor& image, const at::Tensor& weights);

/// How an image goes on beyond its border.
enum class Border {
  mirrored,   ///< between pixels (x[-1] = x[0]), as often as needed
  continued,  ///< with the border's values
};

/// Gaussian blur of a whole image (rows, cols), float64 or complex128, its weights cut at
/// int(truncate sigma + 1/2) pixels: with a mirrored border that of scipy.ndimage.gaussian_filter.
/// Returns the image's shape. Linear and its own adjoint up to the border. Throws InvalidInput for
/// other images, and unless sigma (px) and truncate are above 0.
at::Tensor gaussian_filter(const at::Tensor& image, double sigma, double truncate = 4,
                           Border border = Border::mirrored);

/// The largest of the eight pixels beside each, of images (..., rows, cols) >= 0; 0 lies outside.
at::Tensor brightest_beside(const at::Tensor& images);

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
