// What every network is to the rest of the program: channels in, complex patches out.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>

#include "ptyche/nn/network_options.h"

namespace ptyche {

class OnnxGraph;

class PatchNetwork : public torch::nn::Module {
 public:
  /// Maps (k, channels, N, N) float32 to patches (k * patches_per_input, N, N) complex64, those of
  /// input i in rows i * patches_per_input and on.
  virtual at::Tensor forward(const at::Tensor& channels) = 0;
  virtual std::int64_t patches_per_input() const { return 1; }

  /// How many patterns one input holds: as many as it gives patches, or, where one patch is all
  /// that comes out, that many see it.
  virtual std::int64_t patterns_per_input() const { return 1; }

  /// Whether multiply_bytes does anything: there are layers for it, and all weights are finite.
  virtual bool can_multiply_bytes() const { return false; }

  /// From here on, where no gradient is wanted, layers whose numbers lie in a known range multiply
  /// them as bytes; the weights must not change any more.
  virtual void multiply_bytes() {}

  /// Of a supervised network, before they become complex: amplitude and phase (rad), unbounded
  /// both, (k, 2, N, N) float32. Others have none; they are not asked.
  virtual at::Tensor maps(const at::Tensor& channels);

  /// Adds what `forward` does to a graph, for channels (k, channels, N, N) called `channels`,
  /// N = `size`; returns the name of real and imaginary part of the patches, (k, 2, N, N). Throws
  /// InvalidInput naming the network where it has no such form.
  virtual std::string add_to(OnnxGraph& graph, const std::string& channels,
                             std::int64_t size) const;
};

/// A network that exists: what its class says of itself.
struct NetworkEntry {
  const char* name;
  NetworkTraits traits;
  std::vector<Field> (*own_fields)(NetworkOptions& options);
  NetworkOptions (*completed)(NetworkOptions options, const StemOptions& stem);
  void (*check)(const NetworkOptions& options);
  std::int64_t (*required_multiple)(const NetworkOptions& options);
  std::shared_ptr<PatchNetwork> (*make)(const NetworkOptions& options);
  void (*draw_weights)(torch::nn::Module& network, std::uint64_t seed);
};

/// The entry of a class like UNet.
template <typename Network>
constexpr NetworkEntry network_entry(const char* name) {
  return {.name = name,
          .traits = Network::kTraits,
          .own_fields = Network::fields,
          .completed = Network::completed,
          .check = Network::check,
          .required_multiple = Network::required_multiple,
          .make = [](const NetworkOptions& options) -> std::shared_ptr<PatchNetwork> {
            return std::make_shared<Network>(options);
          },
          .draw_weights = Network::draw_weights};
}

/// Builds the network called `options.name`, its weights drawn from (seed,
/// Purpose::network_weights). Throws InvalidInput naming the networks that exist, or an option out
/// of range.
std::shared_ptr<PatchNetwork> make_network(const NetworkOptions& options, std::uint64_t seed);

/// The network's parameters to a device; whoever holds one of them holds it there.
void move_network(PatchNetwork& network, at::Device device);

}  // namespace ptyche
