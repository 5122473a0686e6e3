// What every network is to the rest of the program: channels in, complex patches out.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>

#include "ptyche/nn/network_options.h"

namespace ptyche {

class PatchNetwork : public torch::nn::Module {
 public:
  /// Maps (k, channels, N, N) float32 to patches (k * patches_per_input, N, N) complex64, those of
  /// input i in rows i * patches_per_input and on.
  virtual at::Tensor forward(const at::Tensor& channels) = 0;
  virtual std::int64_t patches_per_input() const { return 1; }

  /// How many patterns one input holds: as many as it gives patches, or, where one patch is all
  /// that comes out, that many see it.
  virtual std::int64_t patterns_per_input() const { return 1; }

  /// Of a supervised network, before they become complex: amplitude and phase (rad), unbounded
  /// both, (k, 2, N, N) float32. Others have none; they are not asked.
  virtual at::Tensor maps(const at::Tensor& channels);
};

/// Builds the network called `options.name`, its weights drawn from (seed,
/// Purpose::network_weights). Throws InvalidInput naming the networks that exist, or an option out
/// of range.
std::shared_ptr<PatchNetwork> make_network(const NetworkOptions& options, std::uint64_t seed);

}  // namespace ptyche
