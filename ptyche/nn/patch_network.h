// What every network is to the rest of the program: channels in, complex patches out.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>

#include "ptyche/nn/network_options.h"

namespace ptyche {

/// Maps (k, channels, N, N) float32 to patches (k, N, N) complex64.
class PatchNetwork : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& channels) = 0;
};

/// Builds the network called `options.name`, its weights drawn from (seed,
/// Purpose::network_weights). Throws InvalidInput naming the networks that exist, or an option out
/// of range.
std::shared_ptr<PatchNetwork> make_network(const NetworkOptions& options, std::uint64_t seed);

}  // namespace ptyche
