#include <fmt/ranges.h>

#include <array>

#include "ptyche/core/error.h"
#include "ptyche/nn/draw_weights.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/nn/ptychopinn_network.h"
#include "ptyche/nn/supervised_network.h"
#include "ptyche/nn/unet.h"

namespace ptyche {
namespace {

struct Entry {
  const char* name;
  bool has_stem;
  NetworkOptions (*completed)(NetworkOptions options, const StemOptions& stem);
  void (*check)(const NetworkOptions& options);
  std::int64_t (*required_multiple)(const NetworkOptions& options);
  std::shared_ptr<PatchNetwork> (*make)(const NetworkOptions& options);
  void (*draw_weights)(torch::nn::Module& network, std::uint64_t seed);
};

template <typename Network>
constexpr Entry entry(const char* name, decltype(Entry::draw_weights) draw_weights) {
  return {.name = name,
          .has_stem = Network::kHasStem,
          .completed = Network::completed,
          .check = Network::check,
          .required_multiple = Network::required_multiple,
          .make = [](const NetworkOptions& options) -> std::shared_ptr<PatchNetwork> {
            return std::make_shared<Network>(options);
          },
          .draw_weights = draw_weights};
}

/// Every network that there is; add a line to add one.
constexpr std::array<Entry, 3> kRegistry{
    entry<UNet>("unet", draw_residual_weights),
    entry<PtychoPinnNetwork>("ptychopinn", draw_glorot_weights),
    entry<SupervisedNetwork>("supervised", draw_glorot_weights)};

const Entry& entry_of(const std::string& name) {
  std::string names;
  for (const Entry& known : kRegistry) {
    if (name == known.name) return known;
    names += std::string(names.empty() ? "" : ", ") + known.name;
  }
  throw InvalidInput(fmt::format("network: expected one of {}, found {}", names, name));
}

}  // namespace

NetworkOptions completed(const NetworkOptions& asked, std::int64_t pattern_size,
                         const StemOptions& stem) {
  NetworkOptions options = asked;
  options.pattern_size = pattern_size;
  return entry_of(asked.name).completed(std::move(options), stem);
}

std::string to_string(const NetworkOptions& o) {
  return fmt::format(
      "{} N {} channels {} widths {} x {} stride {} skip {} grid {} x {} big {} {} {} {}", o.name,
      o.pattern_size, o.channels, fmt::join(o.widths, "-"), o.blocks, o.stride, o.skip_channel,
      o.gridsize, o.filters_scale, o.object_big, o.probe_big, o.amplitude_activation,
      o.amplitude_range);
}

bool has_stem(const NetworkOptions& options) { return entry_of(options.name).has_stem; }

std::int64_t required_multiple(const NetworkOptions& options) {
  return entry_of(options.name).required_multiple(options);
}

std::shared_ptr<PatchNetwork> make_network(const NetworkOptions& options, std::uint64_t seed) {
  const Entry& found = entry_of(options.name);
  found.check(options);
  auto network = found.make(options);
  found.draw_weights(*network, seed);
  network->to(at::kFloat);
  for (at::Tensor& parameter : network->parameters())
    if (parameter.dim() == 4)
      parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
  return network;
}

}  // namespace ptyche
