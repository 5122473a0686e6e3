// What the networks are made of, and the weights that they start from.
#pragma once

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/normalization.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/engine/int8_convolution.h"
#include "ptyche/nn/patch_network.h"

namespace ptyche {

/// Pre-activation residual block (He et al., ECCV 2016, fig. 4e) with group normalisation and GELU;
/// the last convolution starts at zero, so that the block starts as the identity.
class ResidualBlock : public torch::nn::Module {
 public:
  explicit ResidualBlock(std::int64_t features);
  at::Tensor forward(const at::Tensor& x);
  /// From here on, where no gradient is wanted, both convolutions multiply bytes. The weights must
  /// be finite and not change any more.
  void multiply_bytes();
  /// The same in a graph; `name` is the block's in the network, as that of each of its weights.
  std::string add_to(OnnxGraph& graph, const std::string& name, const std::string& x) const;

 private:
  torch::nn::GroupNorm first_norm_, second_norm_;
  torch::nn::Conv2d first_, second_;
  std::optional<Int8Convolution> first_in_bytes_, second_in_bytes_;
};

/// Layers in a graph: `name` is theirs in the network.
std::string add_convolution(OnnxGraph& graph, const std::string& name,
                            const torch::nn::Conv2d& layer, const std::string& x);
std::string add_norm_and_gelu(OnnxGraph& graph, const std::string& name,
                              const torch::nn::GroupNorm& layer, const std::string& x);

/// A layer of group normalisation and the GELU of what it gives.
at::Tensor norm_and_gelu(const torch::nn::GroupNorm& layer, const at::Tensor& x);

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

/// The largest of every 2 x 2 pixels.
at::Tensor half_as_large(const at::Tensor& x);

/// Every pixel four times.
at::Tensor twice_as_large(const at::Tensor& x);

/// A network's output before its activation as the physics takes it: float32 whatever precision
/// the layers ran in, contiguous.
at::Tensor as_map(const at::Tensor& x);

/// amplitude * exp(i phase), differentiable where the amplitude is 0 too.
at::Tensor from_polar(const at::Tensor& amplitude, const at::Tensor& phase);

/// `channels` as float32, its memory channels_last in name too where there is only one channel: the
/// first convolution passes that on. Throws InvalidInput naming both shapes unless it is (k,
/// options.channels, N, N).
at::Tensor checked_input(const at::Tensor& channels, const NetworkOptions& options);

/// The U-Net's: uniform in +-1/sqrt(fan-in) (LeCun 1998), biases too; layers that close a residual
/// path start at 0. Drawn from (seed, Purpose::network_weights).
void draw_residual_weights(torch::nn::Module& network, std::uint64_t seed);

/// PtychoPINN's: kernels uniform in +-sqrt(6 / (fan-in + fan-out)) (Glorot & Bengio, AISTATS
/// 2010, eq. 16), biases 0. Convolution i draws from (seed, Purpose::network_weights, i).
void draw_glorot_weights(torch::nn::Module& network, std::uint64_t seed);

}  // namespace ptyche
