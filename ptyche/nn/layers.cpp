#include "ptyche/nn/layers.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "ptyche/core/random.h"
#include "ptyche/data/array.h"
#include "ptyche/engine/norm_gelu.h"
#include "ptyche/storage/onnx.h"

namespace ptyche {
namespace {

constexpr std::int64_t kNormGroups = 8;

using Visit = std::function<void(const std::string& name, torch::nn::Conv2dImpl& convolution)>;

void for_each_convolution(torch::nn::Module& network, const Visit& visit) {
  const at::NoGradGuard no_grad;
  for (const auto& module : network.named_modules())
    if (auto* convolution = module.value()->as<torch::nn::Conv2d>())
      visit(module.key(), *convolution);
}

}  // namespace

ResidualBlock::ResidualBlock(std::int64_t features)
    : first_norm_(torch::nn::GroupNormOptions(kNormGroups, features)),
      second_norm_(torch::nn::GroupNormOptions(kNormGroups, features)),
      first_(convolution_3x3(features, features)),
      second_(convolution_3x3(features, features)) {
  register_module("first_norm", first_norm_);
  register_module("first", first_);
  register_module("second_norm", second_norm_);
  register_module("second", second_);
}

namespace {

/// Of the numbers that leave a norm and its GELU: those farther out than so many standard
/// deviations of their group are cut off.
constexpr double kFarthest = 6;
constexpr double kLeastOfGelu = -0.17;  // at -0.75
constexpr double kByteValues = 255;

ByteUnits units_of(const torch::nn::GroupNorm& norm) {
  const at::Tensor largest = (norm->weight.abs() * kFarthest + norm->bias).max();
  const double per_unit =
      kByteValues / (std::max(largest.item<double>(), -kLeastOfGelu) - kLeastOfGelu);
  return {per_unit, std::lround(-kLeastOfGelu * per_unit)};
}

Int8Convolution convolution_in_bytes(const torch::nn::GroupNorm& norm,
                                     const torch::nn::Conv2d& layer) {
  return {layer->weight.detach(), layer->bias.detach(), units_of(norm)};
}

at::Tensor normed_convolution(const torch::nn::GroupNorm& norm, const torch::nn::Conv2d& layer,
                              const std::optional<Int8Convolution>& in_bytes, const at::Tensor& x) {
  if (!in_bytes || at::GradMode::is_enabled()) return layer.ptr()->forward(norm_and_gelu(norm, x));
  return (*in_bytes)(group_norm_gelu_bytes(x, norm->options.num_groups(), norm->weight, norm->bias,
                                           norm->options.eps(), in_bytes->units()),
                     x.scalar_type());
}

}  // namespace

at::Tensor ResidualBlock::forward(const at::Tensor& x) {
  const at::Tensor inner = normed_convolution(first_norm_, first_, first_in_bytes_, x);
  return x + normed_convolution(second_norm_, second_, second_in_bytes_, inner);
}

void ResidualBlock::multiply_bytes() {
  const at::NoGradGuard no_grad;
  first_in_bytes_ = convolution_in_bytes(first_norm_, first_);
  second_in_bytes_ = convolution_in_bytes(second_norm_, second_);
}

std::string ResidualBlock::add_to(OnnxGraph& graph, const std::string& name,
                                  const std::string& x) const {
  std::string inner = add_norm_and_gelu(graph, name + ".first_norm", first_norm_, x);
  inner = add_convolution(graph, name + ".first", first_, inner);
  inner = add_norm_and_gelu(graph, name + ".second_norm", second_norm_, inner);
  return graph.add("Add", {x, add_convolution(graph, name + ".second", second_, inner)});
}

std::string add_convolution(OnnxGraph& graph, const std::string& name,
                            const torch::nn::Conv2d& layer, const std::string& x) {
  const std::int64_t side = layer->weight.size(2), stride = layer->options.stride()->at(0);
  const std::int64_t border = (side - 1) / 2;  // none for 1 x 1, and for 2 x 2 with stride 2
  return graph.add("Conv",
                   {x, graph.weights(name + ".weight", layer->weight),
                    graph.weights(name + ".bias", layer->bias)},
                   {{"kernel_shape", std::vector{side, side}},
                    {"strides", std::vector{stride, stride}},
                    {"pads", std::vector{border, border, border, border}}});
}

std::string add_norm_and_gelu(OnnxGraph& graph, const std::string& name,
                              const torch::nn::GroupNorm& layer, const std::string& x) {
  // Groups of features as the features of one row of pixels: an operator for them is newer.
  const std::int64_t groups = layer->options.num_groups();
  const auto shape = [&](std::vector<std::int64_t> lengths) {
    return graph.constant(at::tensor(lengths, at::kLong));
  };
  const std::string as_rows = graph.add("Reshape", {x, shape({0, groups, -1})});
  const std::string even =
      graph.add("InstanceNormalization",
                {as_rows, graph.constant(at::ones({groups})), graph.constant(at::zeros({groups}))},
                {{"epsilon", static_cast<float>(layer->options.eps())}});
  const std::string back = graph.add("Reshape", {even, graph.add("Shape", {x})});
  const std::string scaled =
      graph.add("Mul", {back, graph.weights(name + ".weight", layer->weight.view({1, -1, 1, 1}))});
  const std::string moved =
      graph.add("Add", {scaled, graph.weights(name + ".bias", layer->bias.view({1, -1, 1, 1}))});
  const std::string half = graph.add("Mul", {moved, graph.constant(at::scalar_tensor(0.5))});
  const std::string inner =
      graph.add("Erf", {graph.add("Mul", {moved, graph.constant(at::scalar_tensor(M_SQRT1_2))})});
  return graph.add("Mul",
                   {half, graph.add("Add", {inner, graph.constant(at::scalar_tensor(1.0))})});
}

at::Tensor norm_and_gelu(const torch::nn::GroupNorm& layer, const at::Tensor& x) {
  return group_norm_gelu(x, layer->options.num_groups(), layer->weight, layer->bias,
                         layer->options.eps());
}

torch::nn::Conv2d convolution_3x3(std::int64_t in, std::int64_t out) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).padding(1));
}

ConvolutionLadder::ConvolutionLadder(std::int64_t channels, const std::vector<std::int64_t>& widths,
                                     TensorFunction resize)
    : resize_(resize) {
  for (const std::int64_t width : widths) {
    const std::size_t level = convolutions_.size() / 2;
    for (const char* place : {"first", "second"}) {
      convolutions_.push_back(
          register_module(fmt::format("{}_{}", place, level), convolution_3x3(channels, width)));
      channels = width;
    }
  }
}

at::Tensor ConvolutionLadder::forward(at::Tensor x) {
  for (std::size_t i = 0; i < convolutions_.size(); ++i) {
    x = convolutions_[i]->forward(x);
    at::relu_(x);
    if (i % 2 == 1) x = resize_(x);
  }
  return x;
}

at::Tensor half_as_large(const at::Tensor& x) { return at::max_pool2d(x, 2); }

at::Tensor twice_as_large(const at::Tensor& x) {
  // On a GPU LibTorch's autocast would make float32 of it and of all that it is added to.
  std::optional<c10::impl::ExcludeDispatchKeyGuard> as_it_is;
  if (x.is_cuda()) as_it_is.emplace(c10::DispatchKey::AutocastCUDA);
  return at::upsample_nearest2d(x, {2 * x.size(2), 2 * x.size(3)});
}

at::Tensor as_map(const at::Tensor& x) { return x.to(at::kFloat).contiguous(); }

at::Tensor from_polar(const at::Tensor& amplitude, const at::Tensor& phase) {
  return at::complex(amplitude * phase.cos(), amplitude * phase.sin());
}

at::Tensor checked_input(const at::Tensor& channels, const NetworkOptions& options) {
  const std::int64_t size = options.pattern_size;
  require(channels.dim() == 4 && channels.size(1) == options.channels && channels.size(2) == size &&
              channels.size(3) == size,
          "network {}: expected an input (k, {}, {}, {}), found {}", options.name, options.channels,
          size, size, describe(channels));
  return channels.to(at::kFloat, false, false, at::MemoryFormat::ChannelsLast);
}

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
