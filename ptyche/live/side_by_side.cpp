#include "ptyche/live/side_by_side.h"

#include <algorithm>
#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/evaluate/align.h"
#include "ptyche/evaluate/compare.h"

namespace ptyche {
namespace {

/// Of the window that two images are brought onto each other by; a larger one tells no more.
constexpr std::int64_t kLargestWindow_px = 1024;
constexpr double kLit = 0.1;  // of the brightest pixel

Window middle_of(const Window& window) {
  const auto middle = [](std::int64_t begin, std::int64_t end) {
    const std::int64_t spare = std::max<std::int64_t>(end - begin - kLargestWindow_px, 0) / 2;
    return std::pair{begin + spare, end - spare};
  };
  const auto [top, bottom] = middle(window.row_begin, window.row_end);
  const auto [left, right] = middle(window.col_begin, window.col_end);
  return {top, bottom, left, right};
}

/// The pixels that lie on both of two canvases, as each counts them.
struct CommonPixels {
  Window reference, image;
};

CommonPixels common_pixels(at::IntArrayRef reference, at::IntArrayRef image, std::int64_t row,
                           std::int64_t col) {
  const auto clamped = [](std::int64_t place, std::int64_t size) {
    return std::clamp<std::int64_t>(place, 0, size);
  };
  const Window there{clamped(row, reference[0]), clamped(row + image[0], reference[0]),
                     clamped(col, reference[1]), clamped(col + image[1], reference[1])};
  return {there,
          {there.row_begin - row, there.row_end - row, there.col_begin - col, there.col_end - col}};
}

at::Tensor coverage_of(const Reconstruction& image) {
  return image.coverage.defined() ? image.coverage : at::ones(image.projection().sizes());
}

}  // namespace

Reconstruction brought_onto(const Reconstruction& reference, const Reconstruction& image) {
  for (const Reconstruction* each : {&reference, &image})
    require(at::isfinite(each->object).all().item<bool>(),
            "object: expected finite values, found {}", "NaN or infinity");
  require_same_pixel(image, reference);
  const Window window = middle_of(common_window(image, reference));
  const at::Tensor object = image.projection().to(at::kComplexDouble);
  const Gauge gauge = align(reference.projection().to(at::kComplexDouble), object, window,
                            std::array{image.origin_row - reference.origin_row,
                                       image.origin_col - reference.origin_col})
                          .gauge;
  const Window whole{0, reference.rows(), 0, reference.cols()};
  Reconstruction brought = reference;
  const at::Tensor moved = move_image(object, gauge, whole) *
                           c10::complex<double>(gauge.scale.real(), gauge.scale.imag());
  brought.coverage = at::zeros(reference.projection().sizes());
  const auto common =
      common_pixels(reference.projection().sizes(), image.projection().sizes(),
                    std::lround(gauge.shift_row_px), std::lround(gauge.shift_col_px));
  if (common.reference.rows() > 0 && common.reference.cols() > 0)
    cut(brought.coverage, common.reference).copy_(cut(coverage_of(image), common.image));
  brought.object = moved.to(at::kComplexFloat).masked_fill(brought.coverage.le(0), 1).unsqueeze(0);
  return brought;
}

PhasePlane ramp_of(const at::Tensor& object, const at::Tensor& coverage) {
  const at::Tensor lit = (object * coverage.gt(kLit)).to(at::kComplexFloat);
  const auto slope = [&](int axis) {
    const std::int64_t length = lit.size(axis) - 1;
    if (length < 1) return 0.0;
    const at::Tensor product = lit.narrow(axis, 1, length) * lit.narrow(axis, 0, length).conj();
    const at::Tensor sum =
        at::view_as_real(product.contiguous()).flatten(0, 1).sum(0, false, at::kDouble);
    return std::atan2(sum[1].item<double>(), sum[0].item<double>());
  };
  return {0, slope(0), slope(1)};
}

PhasePlane plane_between(const Reconstruction& reference, const Reconstruction& image) {
  const auto common = common_pixels(reference.projection().sizes(), image.projection().sizes(),
                                    image.origin_row - reference.origin_row,
                                    image.origin_col - reference.origin_col);
  if (common.reference.rows() <= 0 || common.reference.cols() <= 0) return {};
  const at::Tensor product =
      cut(image.projection(), common.image) * cut(reference.projection(), common.reference).conj();
  const at::Tensor light = at::minimum(cut(coverage_of(image), common.image),
                                       cut(coverage_of(reference), common.reference));
  PhasePlane plane = ramp_of(product, light);
  const auto rows = at::arange(product.size(0), at::kDouble) + common.image.row_begin,
             cols = at::arange(product.size(1), at::kDouble) + common.image.col_begin;
  const at::Tensor angles =
      (rows * plane.slope_row).unsqueeze(1) + (cols * plane.slope_col).unsqueeze(0);
  const at::Tensor flat =
      product.to(at::kComplexDouble) * light.gt(kLit) * at::polar(at::ones_like(angles), -angles);
  const at::Tensor sum = at::view_as_real(flat.contiguous()).flatten(0, 1).sum(0);
  plane.constant = std::atan2(sum[1].item<double>(), sum[0].item<double>());
  return plane;
}

}  // namespace ptyche
