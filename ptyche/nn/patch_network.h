// What every network is to the rest of the program: channels in, complex patches out.
#pragma once

#include <torch/nn.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ptyche {

/// Maps (k, channels, N, N) float32 to patches (k, N, N) complex64.
class PatchNetwork : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& channels) = 0;
};

/// All that is needed to build a network again from a file.
struct NetworkOptions {
  std::string name = "unet";
  std::int64_t channels = 6;                        ///< input channels
  std::vector<std::int64_t> widths = {32, 64, 96};  ///< features per level, multiples of 8
  std::int64_t blocks = 1;                          ///< residual blocks per level and side
  std::int64_t stride = 2;  ///< pixels per side folded into features at the door
  std::int64_t skip_channel =
      2;  ///< first of the two input channels (Re, Im of O - 1) added at the end
};

/// Builds the network called `options.name`, its weights drawn from (seed,
/// Purpose::network_weights). Throws InvalidInput naming the networks that exist, or an option out
/// of range.
std::shared_ptr<PatchNetwork> make_network(const NetworkOptions& options, std::uint64_t seed);

/// Side lengths must be multiples of this for the network to halve them at every level.
std::int64_t required_multiple(const NetworkOptions& options);

}  // namespace ptyche
