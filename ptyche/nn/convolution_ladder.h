// The pieces that the original's networks are made of.
#pragma once

#include <torch/nn/modules/conv.h>

#include <cstdint>
#include <vector>

#include "ptyche/nn/network_options.h"

namespace ptyche {

using TensorFunction = at::Tensor (*)(const at::Tensor&);

/// 3 x 3, as large at the end as at the start.
torch::nn::Conv2d convolution_3x3(std::int64_t in, std::int64_t out);

/// Two 3 x 3 convolutions per width, each followed by a ReLU, and then a change of size: (k,
/// channels, rows, cols) to (k, last width, ...).
class ConvolutionLadder : public torch::nn::Module {
 public:
  ConvolutionLadder(std::int64_t channels, const std::vector<std::int64_t>& widths,
                    TensorFunction resize);
  at::Tensor forward(at::Tensor x);

 private:
  std::vector<torch::nn::Conv2d> convolutions_;
  TensorFunction resize_;
};

/// A network's output before its activation as the physics takes it: float32 whatever precision
/// the layers ran in, contiguous.
at::Tensor as_map(const at::Tensor& x);

/// amplitude * exp(i phase), differentiable where the amplitude is 0 too.
at::Tensor from_polar(const at::Tensor& amplitude, const at::Tensor& phase);

/// `channels` as float32, its memory channels_last in name too where there is only one channel: the
/// first convolution passes that on. Throws InvalidInput naming both shapes unless it is (k,
/// options.channels, N, N).
at::Tensor checked_input(const at::Tensor& channels, const NetworkOptions& options);

}  // namespace ptyche
