#include "ptyche/nn/convolution_ladder.h"

#include "ptyche/core/error.h"
#include "ptyche/data/describe.h"

namespace ptyche {

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

}  // namespace ptyche
