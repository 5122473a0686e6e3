#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>

#include "ptyche/core/error.h"
#include "ptyche/core/random.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/nn/unet.h"

namespace ptyche {
namespace {

using Factory = std::function<std::shared_ptr<PatchNetwork>(const NetworkOptions&)>;

struct Entry {
  const char* name;
  Factory make;
};

/// Every network that there is; add a line to add one.
const std::array<Entry, 1>& registry() {
  static const std::array<Entry, 1> entries{
      {{"unet", [](const NetworkOptions& options) { return std::make_shared<UNet>(options); }}}};
  return entries;
}

/// Weights uniform in +-1/sqrt(fan-in) (LeCun 1998); layers that close a residual path start at 0.
void draw_weights(PatchNetwork& network, std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  RandomStream stream(seed, Purpose::network_weights);
  const std::uint64_t generator_seed = (static_cast<std::uint64_t>(stream()) << 32) | stream();
  at::Generator generator = at::detail::createCPUGenerator(generator_seed);
  for (const auto& module : network.named_modules()) {
    auto* convolution = module.value()->as<torch::nn::Conv2d>();
    if (convolution == nullptr) continue;
    const bool closes = module.key() == "head" || module.key().ends_with("second");
    const auto fan_in = static_cast<double>(convolution->weight[0].numel());
    const double bound = closes ? 0 : 1 / std::sqrt(fan_in);
    convolution->weight.uniform_(-bound, bound, generator);
    convolution->bias.uniform_(-bound, bound, generator);
  }
}

void check(const NetworkOptions& options) {
  require(!options.widths.empty() && options.blocks >= 1 && options.stride >= 1,
          "network: expected at least one level, one block and a stride of 1, found {} levels, {} "
          "blocks, stride {}",
          options.widths.size(), options.blocks, options.stride);
  for (const std::int64_t width : options.widths)
    require(width >= 8 && width % 8 == 0, "network width: expected a multiple of 8, found {}",
            width);
}

}  // namespace

std::int64_t required_multiple(const NetworkOptions& options) {
  return options.stride << (options.widths.size() - 1);
}

std::shared_ptr<PatchNetwork> make_network(const NetworkOptions& options, std::uint64_t seed) {
  check(options);
  std::string names;
  for (const Entry& entry : registry()) {
    names += std::string(names.empty() ? "" : ", ") + entry.name;
    if (options.name != entry.name) continue;
    auto network = entry.make(options);
    draw_weights(*network, seed);
    network->to(at::kFloat);
    for (at::Tensor& parameter : network->parameters())
      if (parameter.dim() == 4)
        parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
    return network;
  }
  throw InvalidInput(fmt::format("network: expected one of {}, found {}", names, options.name));
}

}  // namespace ptyche
