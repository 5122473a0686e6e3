#include "ptyche/evaluate/image_error.h"

#include <cmath>

namespace ptyche {

double nrmse(const at::Tensor& truth, const at::Tensor& image) {
  return ((truth - image).norm() / truth.norm()).item<double>();
}

double nrmse_contrast(const at::Tensor& truth, const at::Tensor& image) {
  return ((truth - image).norm() / (truth - truth.mean()).norm()).item<double>();
}

double amplitude_rmse(const at::Tensor& truth, const at::Tensor& image) {
  return std::sqrt((truth.abs() - image.abs()).square().mean().item<double>());
}

at::Tensor phase_difference(const at::Tensor& truth, const at::Tensor& image) {
  return (image * truth.conj()).angle();
}

double phase_rmse_rad(const at::Tensor& truth, const at::Tensor& image) {
  const at::Tensor counted = truth.abs().gt(0);
  const at::Tensor squares = phase_difference(truth, image).square().masked_select(counted);
  return std::sqrt(squares.mean().item<double>());
}

double low_frequency_phase_rad(const at::Tensor& truth, const at::Tensor& image) {
  constexpr std::int64_t side = 16;
  const std::int64_t down = truth.size(0) / side, across = truth.size(1) / side;
  const at::Tensor product =
      (image * truth.conj()).narrow(0, 0, down * side).narrow(1, 0, across * side);
  const at::Tensor blocks = product.reshape({down, side, across, side}).sum({1, 3});
  return std::sqrt(blocks.angle().square().mean().item<double>());
}

at::Tensor centred_phase(const at::Tensor& image) { return (image * image.mean().conj()).angle(); }

double range_of(const at::Tensor& values) { return (values.max() - values.min()).item<double>(); }

bool is_constant(const at::Tensor& image) {
  return (image - image.mean()).norm().item<double>() <= 1e-9 * image.norm().item<double>();
}

}  // namespace ptyche
