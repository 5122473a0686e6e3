// x + conv(gelu(norm(conv(gelu(norm(x)))))).
#pragma once

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/normalization.h>

namespace ptyche {

/// Pre-activation residual block (He et al., ECCV 2016, fig. 4e) with group normalisation and GELU;
/// the last convolution starts at zero, so that the block starts as the identity.
class ResidualBlock : public torch::nn::Module {
 public:
  explicit ResidualBlock(std::int64_t features);
  at::Tensor forward(const at::Tensor& x);

 private:
  torch::nn::GroupNorm first_norm_, second_norm_;
  torch::nn::Conv2d first_, second_;
};

}  // namespace ptyche
