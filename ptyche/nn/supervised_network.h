// The original's supervised baseline, for comparison: one pattern in, amplitude and phase out.
#pragma once

#include "ptyche/nn/convolution_ladder.h"
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

  /// Amplitude and phase (rad), unbounded both: (k, 2, N, N) float32 for (k, 1, N, N). Throws
  /// InvalidInput naming both shapes.
  at::Tensor maps(const at::Tensor& amplitudes);

  // What the registry asks for (network_options.h).
  static constexpr bool kHasStem = false;
  static NetworkOptions completed(NetworkOptions options, const StemOptions& stem);
  static void check(const NetworkOptions& options);
  static std::int64_t required_multiple(const NetworkOptions& options);

 private:
  NetworkOptions options_;
  std::shared_ptr<ConvolutionLadder> encoder_, amplitude_, phase_;
  torch::nn::Conv2d amplitude_head_, phase_head_;
};

}  // namespace ptyche
