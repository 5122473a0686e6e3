#include "ptyche/nn/residual_block.h"

namespace ptyche {
namespace {

constexpr std::int64_t kNormGroups = 8;

torch::nn::Conv2d convolution(std::int64_t features) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(features, features, 3).padding(1));
}

}  // namespace

ResidualBlock::ResidualBlock(std::int64_t features)
    : first_norm_(torch::nn::GroupNormOptions(kNormGroups, features)),
      second_norm_(torch::nn::GroupNormOptions(kNormGroups, features)),
      first_(convolution(features)),
      second_(convolution(features)) {
  register_module("first_norm", first_norm_);
  register_module("first", first_);
  register_module("second_norm", second_norm_);
  register_module("second", second_);
}

at::Tensor ResidualBlock::forward(const at::Tensor& x) {
  const at::Tensor inner = first_->forward(at::gelu(first_norm_->forward(x)));
  return x + second_->forward(at::gelu(second_norm_->forward(inner)));
}

}  // namespace ptyche
