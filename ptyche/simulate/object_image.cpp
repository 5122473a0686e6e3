#include "ptyche/simulate/object_image.h"

#include <algorithm>
#include <cmath>

#include "ptyche/io/image.h"

namespace ptyche {
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

}  // namespace ptyche
