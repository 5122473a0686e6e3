#include "ptyche/nn/ptychopinn_network.h"

#include <array>
#include <bit>
#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/nn/layers.h"

namespace ptyche {
namespace {

constexpr std::int64_t kBorderFeatures = 4;  // the last ones of a decoder; they draw the border
constexpr std::int64_t kSmallestSide = 8;    // what the encoder halves every pattern to

struct AmplitudeActivation {
  const char* name;
  TensorFunction apply;
};

constexpr std::array<AmplitudeActivation, 4> kAmplitudeActivations{
    {{"sigmoid", [](const at::Tensor& x) { return at::sigmoid(x); }},
     {"swish", [](const at::Tensor& x) { return at::silu(x); }},
     {"softplus", [](const at::Tensor& x) { return at::softplus(x); }},
     {"relu", [](const at::Tensor& x) { return at::relu(x); }}}};

std::vector<std::string> amplitude_activation_names() {
  std::vector<std::string> names;
  for (const AmplitudeActivation& activation : kAmplitudeActivations)
    names.emplace_back(activation.name);
  return names;
}

TensorFunction amplitude_activation(const std::string& name) {
  for (const AmplitudeActivation& activation : kAmplitudeActivations)
    if (name == activation.name) return activation.apply;
  throw InvalidInput(
      fmt::format("network ptychopinn: expected an amplitude activation of {}, found {}",
                  fmt::join(amplitude_activation_names(), ", "), name));
}

std::int64_t levels(const NetworkOptions& options) {
  return std::bit_width(static_cast<std::uint64_t>(options.pattern_size / kSmallestSide)) - 1;
}

/// 32, 64, 128 for N = 64; each doubling of N puts a narrower level in front.
std::vector<std::int64_t> encoder_widths(const NetworkOptions& options) {
  std::vector<std::int64_t> widths;
  for (std::int64_t below = levels(options); below-- > 0;)
    widths.push_back((128 >> below) * options.filters_scale);
  return widths;
}

/// 64, 32 for N = 64; each doubling of N puts a wider level in front.
std::vector<std::int64_t> decoder_widths(const NetworkOptions& options) {
  std::vector<std::int64_t> widths;
  for (std::int64_t below = levels(options) - 1; below-- > 0;)
    widths.push_back((32 << below) * options.filters_scale);
  return widths;
}

std::int64_t map_count(const NetworkOptions& options) {
  return options.object_big ? options.channels : 1;
}

/// Convolution of all features but the border's. Weights of 0 for those cost less than a copy of
/// the others.
at::Tensor without_border_features(const torch::nn::Conv2d& convolution, const at::Tensor& x) {
  const at::Tensor weight =
      at::constant_pad_nd(convolution->weight, {0, 0, 0, 0, 0, kBorderFeatures});
  return at::conv2d(x, weight, convolution->bias, 1, 1);
}

/// (k, maps, N/2, N/2) in the middle of zeros.
at::Tensor among_zeros(const at::Tensor& centre) {
  const std::int64_t frame = centre.size(-1) / 2;
  return at::constant_pad_nd(centre, {frame, frame, frame, frame});
}

/// (k, maps, N, N) with its central square replaced.
at::Tensor with_centre(const at::Tensor& border, const at::Tensor& centre) {
  const std::int64_t side = centre.size(-1), first = side / 2;
  at::Tensor whole = border;
  whole.narrow(-2, first, side).narrow(-1, first, side).copy_(centre);
  return whole;
}

}  // namespace

MapDecoder::MapDecoder(const NetworkOptions& options)
    : centre_(
          convolution_3x3(decoder_widths(options).back() - kBorderFeatures, map_count(options))) {
  register_module("centre", centre_);
  const std::vector<std::int64_t> widths = decoder_widths(options);
  const std::int64_t border_width = 2048 / options.pattern_size * options.filters_scale;
  if (options.probe_big)
    border_ = register_module("border", convolution_3x3(border_width, map_count(options)));
  ladder_ = register_module("ladder", std::make_shared<ConvolutionLadder>(
                                          encoder_widths(options).back(), widths, twice_as_large));
  if (options.probe_big)
    border_ladder_ = register_module(
        "border_ladder", std::make_shared<ConvolutionLadder>(
                             kBorderFeatures, std::vector{border_width}, twice_as_large));
}

MapDecoder::Maps MapDecoder::forward(const at::Tensor& features) {
  const at::Tensor x = ladder_->forward(features);
  Maps maps{.centre = as_map(without_border_features(centre_, x)), .border = {}};
  if (!border_ladder_) return maps;
  const at::Tensor last = x.narrow(1, x.size(1) - kBorderFeatures, kBorderFeatures);
  maps.border = as_map(border_->forward(border_ladder_->forward(last)));
  return maps;
}

PtychoPinnNetwork::PtychoPinnNetwork(const NetworkOptions& options)
    : options_(options), amplitude_activation_(amplitude_activation(options.amplitude_activation)) {
  encoder_ =
      register_module("encoder", std::make_shared<ConvolutionLadder>(
                                     options.channels, encoder_widths(options), half_as_large));
  amplitude_ = register_module("amplitude", std::make_shared<MapDecoder>(options));
  phase_ = register_module("phase", std::make_shared<MapDecoder>(options));
}

at::Tensor PtychoPinnNetwork::forward(const at::Tensor& amplitudes) {
  const at::Tensor features = encoder_->forward(checked_input(amplitudes, options_));
  const MapDecoder::Maps amplitude = amplitude_->forward(features);
  const MapDecoder::Maps phase = phase_->forward(features);
  const at::Tensor centre =
      from_polar(options_.amplitude_range * amplitude_activation_(amplitude.centre),
                 std::numbers::pi * phase.centre.tanh());
  if (!options_.probe_big) return among_zeros(centre).flatten(0, 1);
  const at::Tensor border =
      from_polar(options_.amplitude_range * at::silu(amplitude.border), at::silu(phase.border));
  return with_centre(border, centre).flatten(0, 1);
}

std::int64_t PtychoPinnNetwork::patches_per_input() const { return map_count(options_); }

std::int64_t PtychoPinnNetwork::patterns_per_input() const { return options_.channels; }

std::vector<Field> PtychoPinnNetwork::fields(NetworkOptions& options) {
  return {
      {.name = "network-gridsize",
       .target = &options.gridsize,
       .range = {1, 3},
       .internal = true,
       .record_name = "gridsize"},
      {.name = "n-filters-scale",
       .target = &options.filters_scale,
       .help = "width of PtychoPINN's networks: factor on the number of features of each layer",
       .range = {1, 64},
       .record_name = "filters_scale"},
      {.name = "amp-activation",
       .target = &options.amplitude_activation,
       .help = "activation function that gives the amplitudes of PtychoPINN's network",
       .choices = amplitude_activation_names(),
       .record_name = "amplitude_activation"},
      {.name = "object-big",
       .target = &options.object_big,
       .help = "a patch of PtychoPINN's network for each pattern of a group, not one for all"},
      {.name = "probe-big",
       .target = &options.probe_big,
       .help =
           "border of low resolution, not of zeros, around the patches of PtychoPINN's network"},
      {.name = "amplitude-range",
       .target = &options.amplitude_range,
       .range = {1e-9, 1e9},
       .internal = true}};
}

NetworkOptions PtychoPinnNetwork::completed(NetworkOptions options, const StemOptions&) {
  options.channels = options.gridsize * options.gridsize;
  return options;
}

void PtychoPinnNetwork::check(const NetworkOptions& options) {
  const std::int64_t size = options.pattern_size, grid = options.gridsize;
  require(size == 64 || size == 128 || size == 256,
          "network ptychopinn: expected patterns of 64, 128 or 256 pixels a side, found {}", size);
  require(grid >= 1 && grid <= 3, "network ptychopinn: expected a gridsize of 1, 2 or 3, found {}",
          grid);
  require(options.channels == grid * grid,
          "network ptychopinn: expected {} channels for a gridsize of {}, found {}", grid * grid,
          grid, options.channels);
  require(options.filters_scale >= 1,
          "network ptychopinn: expected a filters scale of 1 or more, found {}",
          options.filters_scale);
  amplitude_activation(options.amplitude_activation);
}

std::int64_t PtychoPinnNetwork::required_multiple(const NetworkOptions& options) {
  return std::int64_t{1} << levels(options);
}

void PtychoPinnNetwork::draw_weights(torch::nn::Module& network, std::uint64_t seed) {
  draw_glorot_weights(network, seed);
}

}  // namespace ptyche
