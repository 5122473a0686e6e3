// PtychoPINN's network, for comparison: an encoder and two decoders without skip connections.
#pragma once

#include "ptyche/nn/layers.h"
#include "ptyche/nn/patch_network.h"

namespace ptyche {

/// One of PtychoPINN's two decoders: what the encoder found, to one real map.
class MapDecoder : public torch::nn::Module {
 public:
  /// Before their activations. centre (k, maps, N/2, N/2); border (k, maps, N, N), of which the
  /// frame around the centre counts, undefined without probe_big.
  struct Maps {
    at::Tensor centre, border;
  };

  explicit MapDecoder(const NetworkOptions& options);
  Maps forward(const at::Tensor& features);

 private:
  torch::nn::Conv2d centre_, border_{nullptr};
  std::shared_ptr<ConvolutionLadder> ladder_, border_ladder_;
};

/// PtychoPINN's network (Hoidn et al., Sci. Rep. 13, 22789 (2023)): gridsize^2 normalised
/// amplitudes in, sigmoid amplitude and pi tanh phase out in the central N/2 square of each patch.
/// Around it the patch is 0, or, with probe_big, drawn from four features of half the resolution,
/// amplitude and phase unbounded (swish). Its convolutions are registered in the order in which the
/// PtychoPINN numbers them.
class PtychoPinnNetwork : public PatchNetwork {
 public:
  explicit PtychoPinnNetwork(const NetworkOptions& options);

  /// Throws InvalidInput naming both shapes unless `amplitudes` is (k, gridsize^2, N, N).
  at::Tensor forward(const at::Tensor& amplitudes) override;
  std::int64_t patches_per_input() const override;
  std::int64_t patterns_per_input() const override;

  // What the registry asks for (network.cpp).
  static constexpr NetworkTraits kTraits = {.summary = "PtychoPINN's", .group_input = true};
  static std::vector<Field> fields(NetworkOptions& options);
  static NetworkOptions completed(NetworkOptions options, const StemOptions& stem);
  static void check(const NetworkOptions& options);
  static std::int64_t required_multiple(const NetworkOptions& options);
  static void draw_weights(torch::nn::Module& network, std::uint64_t seed);

 private:
  NetworkOptions options_;
  TensorFunction amplitude_activation_;
  std::shared_ptr<ConvolutionLadder> encoder_;
  std::shared_ptr<MapDecoder> amplitude_, phase_;
};

}  // namespace ptyche
