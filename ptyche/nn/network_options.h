// What a network looks like, without the network, and the list of all of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/nn/physics_stem.h"

namespace ptyche {

/// All that is needed to build a network again from a file.
struct NetworkOptions {
  std::string name = "unet";      ///< one of network_names()
  std::int64_t channels = 6;      ///< input channels
  std::int64_t pattern_size = 0;  ///< N; the U-Net is the same network for every N
  // The U-Net's (unet.h):
  std::vector<std::int64_t> widths = {24, 48, 64};  ///< features per level, multiples of 8
  std::int64_t blocks = 1;                          ///< residual blocks per level and side
  std::int64_t stride = 0;  ///< pixels per side folded into features; 0 = N / 32
  std::int64_t skip_channel =
      2;  ///< first of the two input channels (Re, Im of O - 1) added at the end
  // Those of PtychoPINN's networks, with its defaults:
  std::int64_t gridsize = 1;       ///< C = gridsize^2 patterns go in together, 1..3; supervised: 1
  std::int64_t filters_scale = 2;  ///< factor of all numbers of features (n_filters_scale), >= 1
  bool object_big = true;          ///< a patch per pattern comes out; else one that all C see
  bool probe_big = true;           ///< the patch has a border of low resolution; else one of zeros
  std::string amplitude_activation = "sigmoid";  ///< sigmoid | swish | softplus | relu
  double amplitude_range = 1;  ///< factor of all amplitudes that come out: a sigmoid's largest one
};

/// The name, what the patterns decide, and then every network's own options. A model's record holds
/// them all.
std::vector<Field> fields(NetworkOptions& options);

/// What a network is to those who use it.
struct NetworkTraits {
  const char* summary = "";  ///< for the help: "ours"
  bool has_stem = false;     ///< its input is what the physics stem makes of a pattern, else the
                             ///< pattern's amplitudes alone
  bool supervised = false;   ///< it is trained on the true object and not through the physics
  bool group_input = false;  ///< gridsize^2 patterns go in together
};

/// Every network that there is. Adding one: its file with a class like UNet, and a line in
/// network.cpp.
std::vector<std::string> network_names();

/// Throws InvalidInput naming the networks that exist.
NetworkTraits traits_of(const NetworkOptions& options);

/// Throws InvalidInput naming the first option that is not its default and that the network chosen
/// does not have, and the networks that do.
void require_own_options(const NetworkOptions& options);

/// `asked` with all that the patterns decide filled in: the pattern size and the input channels
/// (the U-Net's come from the stem, the others' are the C patterns), the U-Net's skip channel, and
/// its stride where that is 0. Throws InvalidInput naming the networks that exist.
NetworkOptions completed(const NetworkOptions& asked, std::int64_t pattern_size,
                         const StemOptions& stem);

/// Sides that are a multiple of this can be halved at every level of the network. Throws
/// InvalidInput naming the networks that exist.
std::int64_t required_multiple(const NetworkOptions& options);

}  // namespace ptyche
