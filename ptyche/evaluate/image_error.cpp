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

}  // namespace ptyche
