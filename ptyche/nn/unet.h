// Our default network: a small U-Net that corrects what the physics stem says.
#pragma once

#include "ptyche/nn/layers.h"
#include "ptyche/nn/patch_network.h"

namespace ptyche {

/// U-Net (Ronneberger, MICCAI 2015) of residual blocks at reduced resolution: `stride` x `stride`
/// pixels become features at the start and pixels again at the end (Shi et al., CVPR 2016); levels
/// are joined by sums. Output: 1 + gain * (skip channels) + correction, the correction zero at the
/// start, so that training begins from the stem's image and never from a flat one.
class UNet : public PatchNetwork {
 public:
  explicit UNet(const NetworkOptions& options);
  at::Tensor forward(const at::Tensor& channels) override;
  bool can_multiply_bytes() const override;
  /// The residual blocks' convolutions, which are most of the work; entry, head and the changes of
  /// size stay as they are.
  void multiply_bytes() override;
  std::string add_to(OnnxGraph& graph, const std::string& channels,
                     std::int64_t size) const override;

  // What the registry asks for (network.cpp).
  static constexpr NetworkTraits kTraits = {.summary = "ours", .has_stem = true};
  static std::vector<Field> fields(NetworkOptions& options);
  static NetworkOptions completed(NetworkOptions options, const StemOptions& stem);
  static void check(const NetworkOptions& options);
  static std::int64_t required_multiple(const NetworkOptions& options);
  static void draw_weights(torch::nn::Module& network, std::uint64_t seed);

 private:
  at::Tensor entry_of(const at::Tensor& x);

  NetworkOptions options_;
  torch::nn::Conv2d entry_, head_;
  torch::nn::GroupNorm head_norm_;
  std::vector<torch::nn::Conv2d> down_, up_;
  std::vector<std::vector<std::shared_ptr<ResidualBlock>>> encoder_, decoder_;
  at::Tensor gain_;
};

}  // namespace ptyche
