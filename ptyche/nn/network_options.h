// What a network looks like, without the network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ptyche {

/// All that is needed to build a network again from a file.
struct NetworkOptions {
  std::string name = "unet";
  std::int64_t channels = 6;                        ///< input channels
  std::vector<std::int64_t> widths = {24, 48, 64};  ///< features per level, multiples of 8
  std::int64_t blocks = 1;                          ///< residual blocks per level and side
  std::int64_t stride = 0;  ///< pixels per side folded into features at the door; 0 = N / 32
  std::int64_t skip_channel =
      2;  ///< first of the two input channels (Re, Im of O - 1) added at the end
};

/// Side lengths must be multiples of this for the network to halve them at every level.
std::int64_t required_multiple(const NetworkOptions& options);

}  // namespace ptyche
