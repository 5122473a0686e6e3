#include "ptyche/nn/unet.h"

#include <algorithm>

#include "ptyche/core/error.h"
#include "ptyche/nn/layers.h"
#include "ptyche/nn/physics_stem.h"
#include "ptyche/storage/onnx.h"

namespace ptyche {
namespace {

using torch::nn::Conv2d;
using torch::nn::Conv2dOptions;

at::Tensor run(const std::vector<std::shared_ptr<ResidualBlock>>& blocks, at::Tensor x) {
  for (const auto& block : blocks) x = block->forward(x);
  return x;
}

}  // namespace

UNet::UNet(const NetworkOptions& options)
    : options_(options),
      entry_(Conv2dOptions(options.channels * options.stride * options.stride,
                           options.widths.front(), 3)
                 .padding(1)),
      head_(
          Conv2dOptions(options.widths.front(), 2 * options.stride * options.stride, 3).padding(1)),
      head_norm_(torch::nn::GroupNormOptions(8, options.widths.front())) {
  register_module("entry", entry_);
  const std::size_t levels = options.widths.size();
  const auto blocks = [&](const char* side, std::size_t level) {
    std::vector<std::shared_ptr<ResidualBlock>> made;
    for (std::int64_t i = 0; i < options.blocks; ++i)
      made.push_back(register_module(fmt::format("{}_{}_{}", side, level, i),
                                     std::make_shared<ResidualBlock>(options.widths[level])));
    return made;
  };
  for (std::size_t level = 0; level < levels; ++level) {
    encoder_.push_back(blocks("encoder", level));
    if (level + 1 == levels) break;
    const std::int64_t here = options.widths[level], below = options.widths[level + 1];
    down_.push_back(register_module(fmt::format("down_{}", level),
                                    Conv2d(Conv2dOptions(here, below, 2).stride(2))));
    up_.push_back(
        register_module(fmt::format("up_{}", level), Conv2d(Conv2dOptions(below, here, 1))));
    decoder_.push_back(blocks("decoder", level));
  }
  register_module("head_norm", head_norm_);
  register_module("head", head_);
  gain_ = register_parameter("gain", at::ones({}));
}

/// The layer on pixel_unshuffle(x): that brings stride x stride pixels of a channel together, which
/// moves single numbers; here rows of a square go as they lie, and the weights follow.
at::Tensor UNet::entry_of(const at::Tensor& x) {
  const std::int64_t s = options_.stride, n = x.size(0), c = x.size(1);
  const std::int64_t rows = x.size(2) / s, cols = x.size(3) / s;
  const at::Tensor squares =
      x.permute({0, 2, 3, 1}).reshape({n, rows, s, cols, s * c}).transpose(2, 3);
  const at::Tensor weights =
      entry_->weight.unflatten(1, {c, s, s}).permute({0, 2, 3, 1, 4, 5}).flatten(1, 3);
  return at::conv2d(squares.reshape({n, rows, cols, s * s * c}).permute({0, 3, 1, 2}),
                    weights.contiguous(at::MemoryFormat::ChannelsLast), entry_->bias, 1, 1);
}

at::Tensor UNet::forward(const at::Tensor& channels) {
  at::Tensor x = entry_of(channels);
  std::vector<at::Tensor> kept;
  for (std::size_t level = 0; level < encoder_.size(); ++level) {
    x = run(encoder_[level], x);
    if (level == down_.size()) break;
    kept.push_back(x);
    x = down_[level]->forward(x);
  }
  for (std::size_t level = down_.size(); level-- > 0;)
    x = run(decoder_[level], kept[level] + twice_as_large(up_[level]->forward(x)));
  const at::Tensor correction =
      at::pixel_shuffle(head_->forward(norm_and_gelu(head_norm_, x)), options_.stride);
  const at::Tensor skip = channels.slice(1, options_.skip_channel, options_.skip_channel + 2);
  const at::Tensor object = correction.to(at::kFloat) + gain_ * skip;
  return at::complex(1 + object.select(1, 0), object.select(1, 1));
}

bool UNet::can_multiply_bytes() const {
  const auto finite = [](const at::Tensor& weight) {
    return at::isfinite(weight).all().item<bool>();
  };
  return std::ranges::all_of(parameters(), finite);  // bytes would hide one that is not
}

void UNet::multiply_bytes() {
  for (const auto* side : {&encoder_, &decoder_})
    for (const auto& level : *side)
      for (const auto& block : level) block->multiply_bytes();
}

namespace {

std::string whole_numbers(OnnxGraph& graph, const std::vector<std::int64_t>& values) {
  return graph.constant(at::tensor(values, at::kLong));
}

/// pixel_unshuffle in a graph.
///   features  of x
std::string add_unshuffle(OnnxGraph& graph, const std::string& x, std::int64_t features,
                          std::int64_t size, std::int64_t stride) {
  const std::int64_t rows = size / stride;
  const std::string cut =
      graph.add("Reshape", {x, whole_numbers(graph, {0, features, rows, stride, rows, stride})});
  const std::string moved =
      graph.add("Transpose", {cut}, {{"perm", std::vector<std::int64_t>{0, 1, 3, 5, 2, 4}}});
  return graph.add("Reshape",
                   {moved, whole_numbers(graph, {0, features * stride * stride, rows, rows})});
}

std::string add_twice_as_large(OnnxGraph& graph, const std::string& x) {
  const std::string scales = graph.constant(at::tensor({1.0F, 1.0F, 2.0F, 2.0F}));
  return graph.add("Resize", {x, "", scales},
                   {{"mode", std::string("nearest")},
                    {"coordinate_transformation_mode", std::string("asymmetric")},
                    {"nearest_mode", std::string("floor")}});
}

}  // namespace

std::string UNet::add_to(OnnxGraph& graph, const std::string& channels, std::int64_t size) const {
  const auto run_level = [&](const char* side, const auto& levels, std::size_t level,
                             std::string x) {
    for (std::size_t i = 0; i < levels[level].size(); ++i)
      x = levels[level][i]->add_to(graph, fmt::format("{}_{}_{}", side, level, i), x);
    return x;
  };
  std::string x =
      add_convolution(graph, "entry", entry_,
                      add_unshuffle(graph, channels, options_.channels, size, options_.stride));
  std::vector<std::string> kept;
  for (std::size_t level = 0; level < encoder_.size(); ++level) {
    x = run_level("encoder", encoder_, level, x);
    if (level == down_.size()) break;
    kept.push_back(x);
    x = add_convolution(graph, fmt::format("down_{}", level), down_[level], x);
  }
  for (std::size_t level = down_.size(); level-- > 0;) {
    x = add_convolution(graph, fmt::format("up_{}", level), up_[level], x);
    x = graph.add("Add", {kept[level], add_twice_as_large(graph, x)});
    x = run_level("decoder", decoder_, level, x);
  }
  x = add_convolution(graph, "head", head_, add_norm_and_gelu(graph, "head_norm", head_norm_, x));
  if (options_.stride > 1)
    x = graph.add("DepthToSpace", {x},
                  {{"blocksize", options_.stride}, {"mode", std::string("CRD")}});
  const std::int64_t first = options_.skip_channel;
  const std::string skip =
      graph.add("Slice", {channels, whole_numbers(graph, {first}),
                          whole_numbers(graph, {first + 2}), whole_numbers(graph, {1})});
  const std::string image = graph.add("Mul", {skip, graph.weights("gain", gain_)});
  const std::string one = graph.constant(at::tensor({1.0F, 0.0F}).view({1, 2, 1, 1}));
  return graph.add("Add", {graph.add("Add", {x, image}), one});
}

std::vector<Field> UNet::fields(NetworkOptions& options) {
  return {{.name = "widths", .target = &options.widths, .range = {8, 4096}, .internal = true},
          {.name = "blocks", .target = &options.blocks, .range = {1, 64}, .internal = true},
          {.name = "stride", .target = &options.stride, .range = {0, 1024}, .internal = true},
          {.name = "skip-channel",
           .target = &options.skip_channel,
           .range = {0, 1e4},
           .internal = true}};
}

NetworkOptions UNet::completed(NetworkOptions options, const StemOptions& stem) {
  options.channels = stem_channels(stem);
  options.skip_channel = 2 * static_cast<std::int64_t>(stem.steps.size()) - 2;
  if (options.stride == 0) options.stride = std::max<std::int64_t>(1, options.pattern_size / 32);
  return options;
}

void UNet::check(const NetworkOptions& options) {
  require(!options.widths.empty() && options.blocks >= 1 && options.stride >= 1,
          "network: expected at least one level, one block and a stride of 1, found {} levels, {} "
          "blocks, stride {}",
          options.widths.size(), options.blocks, options.stride);
  for (const std::int64_t width : options.widths)
    require(width >= 8 && width % 8 == 0, "network width: expected a multiple of 8, found {}",
            width);
}

std::int64_t UNet::required_multiple(const NetworkOptions& options) {
  const std::size_t levels =
      std::min<std::size_t>(std::max<std::size_t>(options.widths.size(), 1), 32);
  return options.stride << (levels - 1);  // none and too many are refused elsewhere
}

void UNet::draw_weights(torch::nn::Module& network, std::uint64_t seed) {
  draw_residual_weights(network, seed);
}

}  // namespace ptyche
