// The random weights that networks start from.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>

namespace ptyche {

/// The U-Net's: uniform in +-1/sqrt(fan-in) (LeCun 1998), biases too; layers that close a residual
/// path start at 0. Drawn from (seed, Purpose::network_weights).
void draw_residual_weights(torch::nn::Module& network, std::uint64_t seed);

/// The original's: kernels uniform in +-sqrt(6 / (fan-in + fan-out)) (Glorot & Bengio, AISTATS
/// 2010, eq. 16), biases 0. Convolution i draws from (seed, Purpose::network_weights, i).
void draw_glorot_weights(torch::nn::Module& network, std::uint64_t seed);

}  // namespace ptyche
