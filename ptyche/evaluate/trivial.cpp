#include "ptyche/evaluate/trivial.h"

#include "ptyche/evaluate/align.h"
#include "ptyche/evaluate/gaussian_blur.h"
#include "ptyche/evaluate/image_error.h"

namespace ptyche {
namespace {

double aligned_nrmse_contrast(const at::Tensor& truth, const at::Tensor& image,
                              const Window& window) {
  const Alignment alignment = align(truth, image, window);
  return nrmse_contrast(alignment.truth, alignment.aligned);
}

/// Continues the image by `by` pixels on all sides with its border's values.
at::Tensor continued(const at::Tensor& image, std::int64_t by) {
  const auto inside = [by](std::int64_t size) {
    return at::arange(-by, size + by, at::kLong).clamp(0, size - 1);
  };
  return image.index_select(0, inside(image.size(0))).index_select(1, inside(image.size(1)));
}

}  // namespace

double flat_nrmse_contrast(const at::Tensor& truth, const Window& window) {
  return aligned_nrmse_contrast(truth, at::ones_like(truth), window);
}

double blurred_nrmse_contrast(const at::Tensor& truth, const Window& window) {
  constexpr std::int64_t radius = 5;
  const at::Tensor wide = continued(truth.to(at::kComplexDouble), radius);
  return aligned_nrmse_contrast(truth, gaussian_blur(wide, 1.0, radius), window);
}

}  // namespace ptyche
