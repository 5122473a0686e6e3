// The reference engine on a device that is not the CPU.
#include "tests/support/second_device.h"

#include <gtest/gtest.h>

#include "ptyche/engine/loss.h"
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
    EXPECT_LT(mismatch, kSame) << to_string(of);
  }
}

TEST(SecondDeviceLoss, GoesThereOnceAndComesBackAsNumbers) {
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
  EXPECT_LT((found.cpu() - here).abs().max().item<double>(), kSame);
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
    EXPECT_LT((found.cpu() - here).abs().max().item<double>(), kSame * here.max().item<double>());
  }
}

}  // namespace
}  // namespace ptyche
