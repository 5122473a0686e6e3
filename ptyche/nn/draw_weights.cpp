#include "ptyche/nn/draw_weights.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <torch/nn/modules/conv.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "ptyche/core/random.h"

namespace ptyche {
namespace {

using Visit = std::function<void(const std::string& name, torch::nn::Conv2dImpl& convolution)>;

void for_each_convolution(torch::nn::Module& network, const Visit& visit) {
  const at::NoGradGuard no_grad;
  for (const auto& module : network.named_modules())
    if (auto* convolution = module.value()->as<torch::nn::Conv2d>())
      visit(module.key(), *convolution);
}

}  // namespace

void draw_residual_weights(torch::nn::Module& network, std::uint64_t seed) {
  RandomStream stream(seed, Purpose::network_weights);
  const std::uint64_t generator_seed = (static_cast<std::uint64_t>(stream()) << 32) | stream();
  at::Generator generator = at::detail::createCPUGenerator(generator_seed);
  for_each_convolution(network, [&](const std::string& name, torch::nn::Conv2dImpl& convolution) {
    const bool closes = name == "head" || name.ends_with("second");
    const auto fan_in = static_cast<double>(convolution.weight[0].numel());
    const double bound = closes ? 0 : 1 / std::sqrt(fan_in);
    convolution.weight.uniform_(-bound, bound, generator);
    convolution.bias.uniform_(-bound, bound, generator);
  });
}

void draw_glorot_weights(torch::nn::Module& network, std::uint64_t seed) {
  std::uint64_t index = 0;
  for_each_convolution(network, [&](const std::string&, torch::nn::Conv2dImpl& convolution) {
    RandomStream stream(seed, Purpose::network_weights, index++);
    const auto fans = static_cast<double>(convolution.weight[0].numel() +
                                          convolution.weight.select(1, 0).numel());
    const double bound = std::sqrt(6 / fans);
    auto* first = convolution.weight.data_ptr<float>();
    std::generate_n(first, convolution.weight.numel(),
                    [&] { return static_cast<float>(bound * (2 * stream.uniform() - 1)); });
    convolution.bias.zero_();
  });
}

}  // namespace ptyche
