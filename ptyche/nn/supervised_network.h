// PtychoPINN's supervised baseline, for comparison: one pattern in, amplitude and phase out.
#pragma once

#include "ptyche/nn/layers.h"
#include "ptyche/nn/patch_network.h"

namespace ptyche {

/// The baseline that PtychoPINN is compared with, after PtychoNN (Cherukara et al., APL 117,
/// 044103 (2020)): an encoder and two arms without skip connections, linear at the end. It is
/// trained on known amplitudes and phases and never sees the physics.
class SupervisedNetwork : public PatchNetwork {
 public:
  explicit SupervisedNetwork(const NetworkOptions& options);

  /// amplitude * exp(i phase) of `maps`.
  at::Tensor forward(const at::Tensor& amplitudes) override;

  /// Throws InvalidInput naming both shapes unless `amplitudes` is (k, 1, N, N).
  at::Tensor maps(const at::Tensor& amplitudes) override;

  // What the registry asks for (network.cpp).
  static constexpr NetworkTraits kTraits = {
      .summary = "PtychoPINN's baseline, which is shown the truth", .supervised = true};
  static std::vector<Field> fields(NetworkOptions& options);
  static NetworkOptions completed(NetworkOptions options, const StemOptions& stem);
  static void check(const NetworkOptions& options);
  static std::int64_t required_multiple(const NetworkOptions& options);
  static void draw_weights(torch::nn::Module& network, std::uint64_t seed);

 private:
  NetworkOptions options_;
  std::shared_ptr<ConvolutionLadder> encoder_, amplitude_, phase_;
  torch::nn::Conv2d amplitude_head_, phase_head_;
};

}  // namespace ptyche
