// The text of the kernels for NVIDIA GPUs, run by threads of the CPU.
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <utility>

#include "ptyche/engine/norm_gelu.h"
#include "ptyche/engine/single_pattern.h"
#include "tests/support/cuda_on_cpu.h"

namespace ptyche::cuda_on_cpu {

#include "ptyche/engine/cuda/device_kernels.cu"

namespace {

template <class T>
T* numbers(const at::Tensor& x) {
  return static_cast<T*>(x.data_ptr());
}

double off_by(const at::Tensor& found, const at::Tensor& expected) {
  return ((found - expected).norm() / expected.norm()).item<double>();
}

TEST(DeviceKernels, SinglePatternGivesTheObjectsOfTheEngine) {
  at::manual_seed(1);
  const at::Tensor probes = at::randn({2, 1, 64, 64}, at::kComplexFloat) + 0.1;
  const at::Tensor amplitudes = 3 * at::rand({2, 64, 64});
  const at::Tensor mask = at::rand({64, 64}).gt(0.1);
  const std::vector<std::int64_t> steps{1, 3};
  const at::Tensor list = at::tensor(steps, at::kInt);
  at::Tensor found = at::empty({2, 2, 64, 64}, at::kComplexFloat);
  run_blocks(2, kThreads, [&] {
    single_pattern_64(numbers<float2>(probes), numbers<float>(amplitudes), numbers<bool>(mask),
                      numbers<int>(list), 2, 0.1F, static_cast<float>(kSinglePatternFloor),
                      numbers<float2>(found));
  });
  const at::Tensor expected =
      single_pattern_objects(probes, amplitudes, mask, {.steps = steps, .regularisation = 0.1});
  EXPECT_LT(off_by(found, expected), 1e-4);
}

TEST(DeviceKernels, GroupNormAndGeluGiveTheFeaturesOfTheCpu) {
  const at::NoGradGuard no_grad;
  at::manual_seed(2);
  struct Layer {
    int features, groups;
  };
  for (const Layer layer : {Layer{8, 8}, Layer{24, 8}, Layer{64, 8}, Layer{512, 4}})
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      const at::Tensor x = (20 + at::randn({2, layer.features, 7, 9}))
                               .to(type)
                               .contiguous(at::MemoryFormat::ChannelsLast);
      const at::Tensor weight = at::randn({layer.features}), bias = at::randn({layer.features});
      const at::Tensor found = at::empty_like(x);
      run_blocks(2, kNormThreads, [&] {
        if (type == at::kFloat)
          group_norm_gelu_float(numbers<float>(x), numbers<float>(weight), numbers<float>(bias), 63,
                                layer.features, layer.groups, 1e-5F, numbers<float>(found));
        else
          group_norm_gelu_bfloat16(numbers<Bfloat16>(x), numbers<float>(weight),
                                   numbers<float>(bias), 63, layer.features, layer.groups, 1e-5F,
                                   numbers<Bfloat16>(found));
      });
      const at::Tensor expected = group_norm_gelu(x, layer.groups, weight, bias, 1e-5);
      EXPECT_LT(off_by(found.to(at::kFloat), expected.to(at::kFloat)),
                type == at::kFloat ? 1e-5 : 4e-3)
          << layer.features;
    }
}

TEST(DeviceKernels, OverlapProductsAreThoseOfTheOverlaps) {
  at::manual_seed(3);
  constexpr std::int64_t kSize = 12;
  const at::Tensor patches = at::randn({4, kSize, kSize}, at::kComplexFloat);
  const at::Tensor corners = at::tensor({0, 0, 3, 5, -2, 4, 9, 1}, at::kLong).view({4, 2});
  const at::Tensor pairs = at::tensor({0, 1, 1, 0, 0, 2, 2, 3, 1, 3, 2, 1}, at::kLong).view({6, 2});
  const at::Tensor roots = at::rand({kSize, kSize});
  at::Tensor found = at::full({6}, 7, at::kComplexDouble);
  run_blocks(6, 256, [&] {
    overlap_products(numbers<float2>(patches), numbers<float>(roots), numbers<long long>(corners),
                     numbers<long long>(pairs), kSize, numbers<double2>(found));
  });
  const auto on_canvas = [&](std::int64_t k) {
    at::Tensor canvas = at::zeros({40, 40}, at::kComplexDouble);
    canvas.narrow(0, corners[k][0].item<std::int64_t>() + 10, kSize)
        .narrow(1, corners[k][1].item<std::int64_t>() + 10, kSize)
        .copy_(patches[k] * roots);
    return canvas;
  };
  for (std::int64_t i = 0; i < 6; ++i) {
    const auto own = pairs[i][0].item<std::int64_t>(), other = pairs[i][1].item<std::int64_t>();
    const at::Tensor expected = (on_canvas(own).conj() * on_canvas(other)).sum();
    EXPECT_GT(expected.abs().item<double>(), 0.1) << own << " " << other;
    EXPECT_LT((found[i] - expected).abs().item<double>(), 1e-4) << own << " " << other;
  }
}

}  // namespace
}  // namespace ptyche::cuda_on_cpu
