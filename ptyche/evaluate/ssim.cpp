#include "ptyche/evaluate/ssim.h"

#include "ptyche/core/error.h"
#include "ptyche/evaluate/gaussian_blur.h"

namespace ptyche {
namespace {

at::Tensor local_mean(const at::Tensor& image) { return gaussian_blur(image, 1.5, 5); }

at::Tensor ssim_map(const at::Tensor& x, const at::Tensor& y, double range) {
  const double c1 = 0.01 * 0.01 * range * range, c2 = 0.03 * 0.03 * range * range;
  const at::Tensor mean_x = local_mean(x), mean_y = local_mean(y);
  const at::Tensor variance_x = local_mean(x * x) - mean_x * mean_x;
  const at::Tensor variance_y = local_mean(y * y) - mean_y * mean_y;
  const at::Tensor covariance = local_mean(x * y) - mean_x * mean_y;
  return (2 * mean_x * mean_y + c1) * (2 * covariance + c2) /
         ((mean_x * mean_x + mean_y * mean_y + c1) * (variance_x + variance_y + c2));
}

}  // namespace

std::optional<double> ssim(const at::Tensor& truth, const at::Tensor& image) {
  require(truth.sizes() == image.sizes() && truth.dim() == 2 && truth.size(0) >= 11 &&
              truth.size(1) >= 11,
          "structural similarity: expected two images of one shape, at least 11 x 11, found {} and "
          "{}",
          fmt::join(truth.sizes(), " x "), fmt::join(image.sizes(), " x "));
  const double range = (truth.max() - truth.min()).item<double>();
  if (range <= 1e-9 * truth.abs().max().item<double>()) return std::nullopt;
  return ssim_map(truth, image, range).mean().item<double>();
}

}  // namespace ptyche
