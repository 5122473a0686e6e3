#include "ptyche/nn/supervised_network.h"

#include "ptyche/core/error.h"
#include "ptyche/nn/layers.h"
#include "ptyche/nn/ptychopinn_network.h"

namespace ptyche {
namespace {

constexpr std::int64_t kLevels = 3;

std::shared_ptr<ConvolutionLadder> encoder(std::int64_t scale) {
  return std::make_shared<ConvolutionLadder>(1, std::vector{32 * scale, 64 * scale, 128 * scale},
                                             half_as_large);
}

std::shared_ptr<ConvolutionLadder> arm(std::int64_t scale) {
  return std::make_shared<ConvolutionLadder>(
      128 * scale, std::vector{128 * scale, 64 * scale, 32 * scale}, twice_as_large);
}

}  // namespace

SupervisedNetwork::SupervisedNetwork(const NetworkOptions& options)
    : options_(options),
      encoder_(register_module("encoder", encoder(options.filters_scale))),
      amplitude_(register_module("amplitude", arm(options.filters_scale))),
      phase_(register_module("phase", arm(options.filters_scale))),
      amplitude_head_(
          register_module("amplitude_head", convolution_3x3(32 * options.filters_scale, 1))),
      phase_head_(register_module("phase_head", convolution_3x3(32 * options.filters_scale, 1))) {}

at::Tensor SupervisedNetwork::maps(const at::Tensor& amplitudes) {
  const at::Tensor features = encoder_->forward(checked_input(amplitudes, options_));
  const at::Tensor amplitude = amplitude_head_->forward(amplitude_->forward(features));
  return as_map(at::cat({amplitude, phase_head_->forward(phase_->forward(features))}, 1));
}

at::Tensor SupervisedNetwork::forward(const at::Tensor& amplitudes) {
  const at::Tensor both = maps(amplitudes);
  return from_polar(both.select(1, 0), both.select(1, 1));
}

std::vector<Field> SupervisedNetwork::fields(NetworkOptions& options) {
  return without(
      PtychoPinnNetwork::fields(options),
      {"network-gridsize", "amp-activation", "object-big", "probe-big", "amplitude-range"});
}

NetworkOptions SupervisedNetwork::completed(NetworkOptions options, const StemOptions&) {
  options.channels = 1;
  return options;
}

void SupervisedNetwork::check(const NetworkOptions& options) {
  const std::int64_t size = options.pattern_size;
  require(size >= required_multiple(options) && size % required_multiple(options) == 0,
          "network supervised: expected patterns of a multiple of {} pixels a side, found {}",
          required_multiple(options), size);
  require(options.gridsize == 1 && options.channels == 1,
          "network supervised: expected a gridsize of 1 and 1 channel, as it sees one pattern at a "
          "time, found a gridsize of {} and {} channels",
          options.gridsize, options.channels);
  require(options.filters_scale >= 1,
          "network supervised: expected a filters scale of 1 or more, found {}",
          options.filters_scale);
}

std::int64_t SupervisedNetwork::required_multiple(const NetworkOptions&) { return 1 << kLevels; }

void SupervisedNetwork::draw_weights(torch::nn::Module& network, std::uint64_t seed) {
  draw_glorot_weights(network, seed);
}

}  // namespace ptyche
