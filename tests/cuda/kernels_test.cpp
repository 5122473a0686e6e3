// The CUDA kernels against the reference engine, where there is a GPU; built by the preset `cuda`.
#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "ptyche/engine/cuda/plugin.h"
#include "tests/support/fused_cases.h"

namespace ptyche {
namespace {

/// The answers of the GPU, by way of the plug-in.
template <class T>
FusedAnswers by_gpu(const FusedInputs& inputs) {
  FusedSetting setting = inputs.setting;
  setting.options.device = ComputeDevice::cuda;
  FusedCall<T> buffers =
      make_fused_call<T>(setting, inputs.picture, inputs.probe, inputs.background, true);
  const cpu::LossResult result = cuda::fused_loss(buffers.call);
  const at::Tensor& place = buffers.place_gradient;
  return {at::scalar_tensor(result.loss, at::kDouble),
          buffers.picture_gradient,
          buffers.probe_gradient,
          buffers.background_gradient,
          place.slice(1, 0, 2),
          place.slice(1, 2, 4)};
}

class CudaKernels : public testing::Test {
 protected:
  void SetUp() override {
    try {
      cuda::require_device();
    } catch (const InvalidInput& missing) {
      GTEST_SKIP() << missing.what();
    }
  }
};

TEST_F(CudaKernels, AgreeWithTheReferenceInFloat64) {
  for (const FusedCase& of : fused_cases()) {
    const FusedInputs inputs = fused_inputs(of);
    EXPECT_LT(largest_mismatch(by_gpu<double>(inputs), reference_answers(inputs)), 1e-10)
        << to_string(of);
  }
}

TEST_F(CudaKernels, AgreeWithTheReferenceInFloat32) {
  for (FusedCase of : fused_cases()) {
    of.real = at::kFloat;
    const FusedInputs inputs = fused_inputs(of);
    EXPECT_LT(largest_mismatch(by_gpu<float>(inputs), reference_answers(inputs)), 1e-5)
        << to_string(of);
  }
}

TEST_F(CudaKernels, GiveTheSameNumbersTwice) {
  const FusedInputs inputs = fused_inputs({.size = 64, .modes = 2, .group_sizes = {16, 9}});
  const FusedAnswers once = by_gpu<float>(inputs), twice = by_gpu<float>(inputs);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_TRUE(at::equal(once[i], twice[i])) << i;
}

TEST_F(CudaKernels, AreReachedThroughTheLossWithItsGradients) {
  const FusedInputs inputs = fused_inputs({.group_sizes = {4, 3}});
  const at::Tensor picture = inputs.picture.clone().requires_grad_(true);
  LossOptions options = inputs.setting.options;
  options.device = ComputeDevice::cuda;
  const GroupLoss result =
      group_loss(picture, inputs.setting.merged, inputs.probe, inputs.setting.layout,
                 {inputs.setting.counts, inputs.setting.mask, inputs.background}, options);
  result.loss.backward();
  const FusedAnswers expected = reference_answers(inputs);
  EXPECT_LT(largest_mismatch({result.loss.detach(), picture.grad()}, expected), 1e-10);
}

}  // namespace
}  // namespace ptyche
