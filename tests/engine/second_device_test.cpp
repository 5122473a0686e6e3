// The reference engine on a device that is not the CPU.
#include "tests/support/second_device.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <utility>

#include "ptyche/engine/loss.h"
#include "ptyche/engine/norm_gelu.h"
#include "ptyche/engine/prediction.h"
#include "ptyche/engine/single_pattern.h"
#include "tests/support/loss_cases.h"

namespace ptyche {
namespace {

constexpr double kSame = 1e-10;

at::Tensor there(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.to(second_device()) : tensor;
}

LossBatch there(LossBatch batch) {
  for (at::Tensor* tensor :
       {&batch.transmission, &batch.merged, &batch.probe, &batch.background, &batch.positions,
        &batch.group, &batch.counts, &batch.mask, &batch.intensities})
    *tensor = there(*tensor);
  return batch;
}

/// What the engine says of a batch in any memory, with the host.
LossAnswers answers(const LossCase& of, const LossBatch& batch) {
  LossAnswers found;
  for (const at::Tensor& answer : loss_and_gradients(of, batch, Engine::reference))
    found.push_back(answer.defined() ? answer.cpu() : answer);
  return found;
}

TEST(SecondDeviceLoss, IsThatOfTheCpuWithItsGradients) {
  for (const LossCase& of :
       {LossCase{},
        LossCase{.group_sizes = {3, 1, 2}, .interpolation = Interpolation::probe_fourier},
        LossCase{.modes = 2, .intensities = true},
        LossCase{.group_sizes = {}, .kind = LossKind::amplitude_square, .near_field = true},
        LossCase{.group_sizes = {}, .interpolation = Interpolation::probe_fourier},
        LossCase{
            .kind = LossKind::amplitude_absolute, .half_merged = true, .merge_floor = 0.001}}) {
    const LossBatch batch = make_batch(of);
    const double mismatch = largest_mismatch(answers(of, there(batch)), answers(of, batch));
    EXPECT_LT(mismatch, allowed(kSame)) << to_string(of);
  }
}

TEST(SecondDeviceLoss, GoesThereOnceAndComesBackAsNumbers) {
  if (!counts_transfers()) GTEST_SKIP() << "transfers to a GPU are not counted";
  const LossCase of;
  const LossBatch batch = there(make_batch(of));
  const TransferCounts before = transfers();
  answers(of, batch);
  EXPECT_EQ(transfers().there, before.there);
}

TEST(SecondDeviceSinglePattern, GivesTheObjectsOfTheCpu) {
  at::manual_seed(1);
  const at::Tensor probes = at::randn({3, 2, 16, 16}, at::kComplexDouble);
  const at::Tensor amplitudes = at::rand({3, 16, 16}, at::kDouble);
  const at::Tensor mask = at::rand({16, 16}).gt(0.1);
  const SinglePatternOptions options{.steps = {1, 3}};
  const at::Tensor here = single_pattern_objects(probes, amplitudes, mask, options);
  const at::Tensor found =
      single_pattern_objects(there(probes), there(amplitudes), there(mask), options);
  EXPECT_EQ(found.device(), second_device());
  EXPECT_LT((found.cpu() - here).abs().max().item<double>(), allowed(kSame));
}

/// What a GPU's own kernels cover, which in float differs from the CPU by rounding alone.
TEST(SecondDeviceSinglePattern, OfTheUsualSizeGivesTheObjectsOfTheCpu) {
  at::manual_seed(3);
  const at::Tensor probes = at::randn({5, 1, 64, 64}, at::kComplexFloat) + 0.1;
  const at::Tensor amplitudes = 3 * at::rand({5, 64, 64});
  const at::Tensor mask = at::rand({64, 64}).gt(0.1);
  const SinglePatternOptions options{.steps = {1, 2, 5}};
  const at::Tensor here = single_pattern_objects(probes, amplitudes, mask, options);
  const at::Tensor found =
      single_pattern_objects(there(probes), there(amplitudes), there(mask), options);
  EXPECT_LT((found.cpu() - here).norm().item<double>(), 1e-4 * here.norm().item<double>());
}

TEST(SecondDeviceNormGelu, GivesTheFeaturesOfTheCpu) {
  const at::NoGradGuard no_grad;
  at::manual_seed(4);
  for (const std::int64_t features : {8, 24, 64})
    for (const auto& [type, rounding] :
         {std::pair{at::kFloat, 1e-5}, std::pair{at::kBFloat16, 1e-2}}) {
      const at::Tensor x =
          (2 + at::randn({3, features, 9, 11})).to(type).contiguous(at::MemoryFormat::ChannelsLast);
      const at::Tensor weight = at::randn({features}), bias = at::randn({features});
      const at::Tensor here = group_norm_gelu(x, 8, weight, bias, 1e-5).to(at::kFloat);
      const at::Tensor found = group_norm_gelu(there(x), 8, there(weight), there(bias), 1e-5);
      EXPECT_EQ(found.scalar_type(), type);
      EXPECT_LT((found.cpu().to(at::kFloat) - here).norm().item<double>(),
                rounding * here.norm().item<double>())
          << features;
    }
}

TEST(SecondDevicePrediction, GivesTheCountsOfTheCpu) {
  at::manual_seed(2);
  const at::Tensor object = at::randn({40, 40}, at::kComplexDouble);
  const at::Tensor probe = probe_of(2, 16, at::kComplexDouble);
  const at::Tensor places = 10 + 15 * at::rand({5, 2}, at::kDouble);
  for (const Interpolation how : {Interpolation::bilinear, Interpolation::probe_fourier}) {
    const at::Tensor here = expected_intensity(object, probe, places, how, {}, FarField{});
    const at::Tensor found =
        expected_intensity(there(object), there(probe), there(places), how, {}, FarField{});
    EXPECT_LT((found.cpu() - here).abs().max().item<double>(),
              allowed(kSame) * here.max().item<double>());
  }
}

}  // namespace
}  // namespace ptyche
