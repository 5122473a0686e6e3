#include "ptyche/evaluate/ssim.h"

#include "ptyche/core/error.h"
#include "ptyche/evaluate/gaussian_blur.h"
#include "ptyche/evaluate/image_error.h"

namespace ptyche {
namespace {

void check(const at::Tensor& truth, const at::Tensor& image, const SsimWindow& window) {
  const std::int64_t least = window.weights.size(0);
  require(truth.sizes() == image.sizes() && truth.dim() == 2 && truth.size(0) >= least &&
              truth.size(1) >= least,
          "structural similarity: expected two images of one shape, at least {0} x {0}, found {1} "
          "and {2}",
          least, fmt::join(truth.sizes(), " x "), fmt::join(image.sizes(), " x "));
}

at::Tensor ssim_map(const at::Tensor& x, const at::Tensor& y, const SsimWindow& window,
                    double range) {
  const auto mean = [&](const at::Tensor& image) { return separable_mean(image, window.weights); };
  const double c1 = 0.01 * 0.01 * range * range, c2 = 0.03 * 0.03 * range * range;
  const at::Tensor mean_x = mean(x), mean_y = mean(y);
  const at::Tensor variance_x = window.variance_factor * (mean(x * x) - mean_x * mean_x);
  const at::Tensor variance_y = window.variance_factor * (mean(y * y) - mean_y * mean_y);
  const at::Tensor covariance = window.variance_factor * (mean(x * y) - mean_x * mean_y);
  return (2 * mean_x * mean_y + c1) * (2 * covariance + c2) /
         ((mean_x * mean_x + mean_y * mean_y + c1) * (variance_x + variance_y + c2));
}

}  // namespace

double ssim(const at::Tensor& truth, const at::Tensor& image, const SsimWindow& window,
            double range) {
  check(truth, image, window);
  return ssim_map(truth, image, window, range).mean().item<double>();
}

std::optional<double> ssim(const at::Tensor& truth, const at::Tensor& image) {
  const SsimWindow window{gaussian_weights(1.5, 5)};
  check(truth, image, window);
  const double range = range_of(truth);
  if (range <= 1e-9 * truth.abs().max().item<double>()) return std::nullopt;
  return ssim(truth, image, window, range);
}

}  // namespace ptyche
