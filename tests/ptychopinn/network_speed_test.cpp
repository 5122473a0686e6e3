#include "ptyche/ptychopinn/network_speed.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace ptyche {
namespace {

TEST(ConvolutionFlops, CountsTwoForEveryProductForwardAndBackward) {
  const at::Tensor image = at::rand({3, 4, 16, 16}).requires_grad_(true);
  const at::Tensor weight = at::rand({8, 4, 3, 3}).requires_grad_(true);
  const double once = 2.0 * 3 * 16 * 16 * 8 * 4 * 9;
  at::Tensor out;
  EXPECT_DOUBLE_EQ(convolution_flops([&] { out = at::conv2d(image, weight, {}, 1, 1); }), once);
  EXPECT_DOUBLE_EQ(convolution_flops([&] { out.sum().backward(); }), 2 * once);
  EXPECT_DOUBLE_EQ(convolution_flops([&] { at::conv2d(image, weight, {}, 2, 1); }), once / 4);
  EXPECT_DOUBLE_EQ(convolution_flops([&] { at::relu(image); }), 0);
}

TEST(NetworkSpeed, MeasuresEveryNetworkUnderEveryEngine) {
  const SpeedTable table = measure_speed(
      {{"unet", Engine::fused}, {"unet", Engine::reference}, {"ptychopinn", Engine::fused}},
      {.batch = 2, .seconds = 0});
  EXPECT_GT(table.peak_gflops, 0);
  ASSERT_EQ(table.lines.size(), 3U);
  for (const NetworkSpeed& speed : table.lines) {
    EXPECT_GT(speed.train_rate(), 0) << speed.what.network;
    EXPECT_GT(speed.infer_rate, 0) << speed.what.network;
    EXPECT_GT(speed.infer_flops, 1e6) << speed.what.network;
    // Backward costs two of forward, but for the first layer's input.
    EXPECT_NEAR(speed.step_flops / (speed.step_patterns * speed.infer_flops), 3, 0.2)
        << speed.what.network;
  }
}

TEST(NetworkSpeed, GroupsOfPtychoPinnsNetworkGoThroughItWhole) {
  const SpeedTable table =
      measure_speed({{"ptychopinn", Engine::fused}}, {.gridsize = 2, .batch = 2, .seconds = 0});
  EXPECT_EQ(table.lines.front().step_patterns, 8);
}

}  // namespace
}  // namespace ptyche
