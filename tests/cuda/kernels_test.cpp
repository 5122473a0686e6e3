// The CUDA kernels against the reference engine, where there is a GPU; built by the preset `cuda`.
#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "ptyche/engine/cuda/plugin.h"
#include "ptyche/engine/fused_call.h"
#include "tests/support/loss_cases.h"

namespace ptyche {
namespace {

/// The answers of the GPU, by way of the plug-in.
template <class T>
LossAnswers by_gpu(const LossCase& of, const LossBatch& batch) {
  LossOptions options = options_of(of);
  options.device = ComputeDevice::cuda;
  std::vector<at::Tensor> kept;
  cpu::LossInputs<T> inputs =
      fused_inputs<T>(batch.transmission, batch.merged, batch.probe, layout_of(of, batch),
                      measured_of(of, batch), options, kept);
  const auto [transmission, probe, background, position, intensity] = take_gradients(inputs);
  const cpu::LossResult result = cuda::fused_loss(inputs);
  return {at::scalar_tensor(result.loss, at::kDouble),
          transmission,
          probe,
          background,
          position.slice(1, 0, 2),
          position.slice(1, 2, 4)};
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
  for (const LossCase& of : scattered_cases()) {
    const LossBatch batch = make_batch(of);
    EXPECT_LT(largest_mismatch(by_gpu<double>(of, batch), reference_answers(of, batch)), 1e-10)
        << to_string(of);
  }
}

TEST_F(CudaKernels, AgreeWithTheReferenceInFloat32) {
  for (LossCase of : scattered_cases()) {
    of.real = at::kFloat;
    const LossBatch batch = make_batch(of);
    EXPECT_LT(largest_mismatch(by_gpu<float>(of, batch), reference_answers(of, batch)), 1e-5)
        << to_string(of);
  }
}

TEST_F(CudaKernels, GiveTheSameNumbersTwice) {
  const LossCase of{.size = 64, .modes = 2, .group_sizes = {16, 9}, .scattered = true};
  const LossBatch batch = make_batch(of);
  const LossAnswers once = by_gpu<float>(of, batch), twice = by_gpu<float>(of, batch);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_TRUE(at::equal(once[i], twice[i])) << i;
}

TEST_F(CudaKernels, AreReachedThroughTheLossWithItsGradients) {
  const LossCase of{.size = 16, .group_sizes = {4, 3}, .scattered = true};
  const LossBatch batch = make_batch(of);
  const at::Tensor transmission = batch.transmission.clone().requires_grad_(true);
  LossOptions options = options_of(of);
  options.device = ComputeDevice::cuda;
  const GroupLoss result = group_loss(transmission, batch.merged, batch.probe, layout_of(of, batch),
                                      measured_of(of, batch), options);
  result.loss.backward();
  const LossAnswers expected = reference_answers(of, batch);
  EXPECT_LT(largest_mismatch({result.loss.detach(), transmission.grad()}, expected), 1e-10);
}

}  // namespace
}  // namespace ptyche
