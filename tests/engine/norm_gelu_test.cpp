#include "ptyche/engine/norm_gelu.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <limits>
#include <vector>

namespace ptyche {
namespace {

constexpr std::int64_t kGroups = 8;
constexpr double kEps = 1e-5;

struct Layers {
  at::Tensor x, weight, bias;
};

/// Numbers of mean `mean` and deviation 1, features innermost.
Layers drawn_layers(std::int64_t features, std::int64_t rows, std::int64_t cols,
                    at::ScalarType type, double mean = 0.3) {
  at::manual_seed(5);
  const at::Tensor x = at::randn({3, features, rows, cols}) + mean;
  return {x.to(type).contiguous(at::MemoryFormat::ChannelsLast), 1 + 0.3 * at::randn({features}),
          0.5 * at::randn({features})};
}

at::Tensor ours(const Layers& from) {
  return group_norm_gelu(from.x, kGroups, from.weight, from.bias, kEps);
}

/// In double precision.
at::Tensor exact(const Layers& from) {
  return at::gelu(at::group_norm(from.x.to(at::kDouble), kGroups, from.weight.to(at::kDouble),
                                 from.bias.to(at::kDouble), kEps));
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

TEST(GroupNormGelu, AgreesWithLibTorchForAnyNumberOfFeaturesAndPixels) {
  for (const std::int64_t features : {8, 24, 40, 48, 96})
    for (const std::int64_t cols : {1, 3, 32}) {
      const Layers layers = drawn_layers(features, 5, cols, at::kFloat);
      EXPECT_LT(largest_difference(ours(layers), exact(layers)), 1e-5) << features << " " << cols;
    }
}

TEST(GroupNormGelu, OfBfloat16IsTheNearestBfloat16OrItsNeighbour) {
  const Layers layers = drawn_layers(48, 9, 7, at::kBFloat16);
  const at::Tensor found = ours(layers), right = exact(layers);
  EXPECT_EQ(found.scalar_type(), at::kBFloat16);
  const at::Tensor off = (found.to(at::kDouble) - right).abs() / (right.abs() + 1e-3);
  EXPECT_LT(off.max().item<double>(), 1.0 / 128);
}

TEST(GroupNormGelu, KeepsItsPrecisionFarFromZero) {
  const Layers layers = drawn_layers(32, 16, 16, at::kFloat, 1000);
  // The numbers themselves are rounded to 6e-5, twice in a difference.
  EXPECT_LT(largest_difference(ours(layers), exact(layers)), 5e-4);
}

std::vector<at::Tensor> gradients(Layers layers, const at::Tensor& slope,
                                  at::Tensor (*function)(const Layers&)) {
  for (at::Tensor* each : {&layers.x, &layers.weight, &layers.bias}) each->requires_grad_(true);
  const at::Tensor y = function(layers);
  return torch::autograd::grad({y}, {layers.x, layers.weight, layers.bias}, {slope.to(y.dtype())});
}

TEST(GroupNormGelu, HasTheGradientsOfLibTorch) {
  for (const std::int64_t features : {8, 24, 64}) {
    const Layers layers = drawn_layers(features, 11, 6, at::kFloat);
    const at::Tensor slope = at::randn_like(layers.x);
    const auto found = gradients(layers, slope, ours), right = gradients(layers, slope, exact);
    for (std::size_t i = 0; i < right.size(); ++i)
      EXPECT_LT(largest_difference(found[i], right[i]),
                1e-5 * (1 + right[i].abs().max().item<double>()))
          << features << " " << i;
  }
}

TEST(GroupNormGelu, OfBfloat16HasGradientsToItsPrecision) {
  const Layers layers = drawn_layers(32, 16, 16, at::kBFloat16);
  const at::Tensor slope = at::randn(layers.x.sizes());
  const auto found = gradients(layers, slope, ours), right = gradients(layers, slope, exact);
  for (std::size_t i = 0; i < right.size(); ++i)
    EXPECT_LT(largest_difference(found[i], right[i]),
              0.01 * (1 + right[i].abs().max().item<double>()))
        << i;
}

TEST(GroupNormGelu, HasTheSameBitsForAnyNumberOfThreads) {
  const Layers layers = drawn_layers(48, 16, 16, at::kFloat);
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor one = ours(layers);
  at::set_num_threads(3);
  const at::Tensor three = ours(layers);
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(one, three));
}

TEST(GroupNormGelu, OfAnImageWithANaNIsNaNInItsGroupAlone) {
  Layers layers = drawn_layers(16, 4, 4, at::kBFloat16);
  layers.x[1][5][2][2] = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor nan = ours(layers).isnan();
  EXPECT_TRUE(nan[1].slice(0, 4, 6).all().item<bool>());
  EXPECT_EQ(nan.sum().item<std::int64_t>(), 2 * 16);
}

constexpr ByteUnits kByteUnits{40, 10};

at::Tensor bytes(const Layers& from) {
  return group_norm_gelu_bytes(from.x, kGroups, from.weight, from.bias, kEps, kByteUnits);
}

TEST(GroupNormGeluBytes, AreTheNearestOnesWithinTheirRange) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16})
    for (const std::int64_t cols : {1, 3, 32}) {
      Layers layers = drawn_layers(24, 5, cols, type);
      layers.weight[0] = 30;  // some beyond 255
      const at::Tensor found = bytes(layers);
      EXPECT_TRUE(found.is_contiguous(at::MemoryFormat::ChannelsLast));
      const at::Tensor right =
          (exact(layers) * kByteUnits.per_unit + kByteUnits.zero).clamp(0, 255);
      EXPECT_LT(largest_difference(found, right), 0.501) << cols;
      EXPECT_EQ(found.max().item<int>(), 255);
    }
}

TEST(GroupNormGeluBytes, OfOtherLayoutsAreTheSame) {
  Layers layers = drawn_layers(16, 6, 5, at::kFloat);
  const at::Tensor right = bytes(layers);
  layers.x = layers.x.contiguous();
  EXPECT_LE(largest_difference(bytes(layers), right), 1);
}

TEST(GroupNormGeluBytes, OfNaNAreZero) {
  Layers layers = drawn_layers(16, 4, 4, at::kFloat);
  layers.x[1][5][2][2] = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor found = bytes(layers);
  EXPECT_EQ(found[1].slice(0, 4, 6).max().item<int>(), 0);
  EXPECT_GT(found[0].max().item<int>(), 0);
}

TEST(GroupNormGelu, TakesOtherLayoutsAndTypesAsLibTorchDoes) {
  Layers layers = drawn_layers(16, 6, 5, at::kFloat);
  layers.x = layers.x.contiguous();
  EXPECT_LT(largest_difference(ours(layers), exact(layers)), 2e-6);
  for (at::Tensor* each : {&layers.x, &layers.weight, &layers.bias}) *each = each->to(at::kDouble);
  EXPECT_EQ(largest_difference(ours(layers), exact(layers)), 0);
}

}  // namespace
}  // namespace ptyche
