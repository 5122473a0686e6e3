// The fused engine on the CPU against the reference engine: every way through it, with dark pixels,
// on any number of threads.
#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/engine/cpu/fft_plan.h"
#include "tests/support/fused_cases.h"

namespace ptyche {
namespace {

struct CpuAnswers {
  FusedAnswers all;
  double contrast = 0, loss_alone = 0;
};

/// `fixed`: the corners are constants, which opens shorter ways.
template <class T>
CpuAnswers by_cpu(const FusedInputs& inputs, int threads, bool fixed) {
  FusedSetting setting = inputs.setting;
  setting.layout.corners = setting.layout.corners.clone().requires_grad_(!fixed);
  const auto call = [&](bool gradient) {
    return make_fused_call<T>(setting, inputs.picture, inputs.probe, inputs.background, gradient);
  };
  const FusedCall<T> buffers = call(true);
  const cpu::LossResult result = cpu::fused_loss(buffers.call, threads);
  const double re = result.sum_re / result.pixels, im = result.sum_im / result.pixels;
  const double mean = re * re + im * im;
  const at::Tensor& place = buffers.place_gradient;
  return {{at::scalar_tensor(result.loss, at::kDouble), buffers.picture_gradient,
           buffers.probe_gradient, buffers.background_gradient,
           fixed ? at::Tensor() : place.slice(1, 0, 2), place.slice(1, 2, 4)},
          std::sqrt(std::max(0.0, result.sum_square / result.pixels - mean) / mean),
          cpu::fused_loss(call(false).call, threads).loss};
}

double reference_contrast(const FusedInputs& inputs) {
  const FusedSetting& setting = inputs.setting;
  const at::Tensor background = inputs.background.numel() > 0 ? inputs.background : at::Tensor();
  LossOptions options = setting.options;
  options.engine = Engine::reference;
  return group_loss(inputs.picture.to(at::kComplexDouble), setting.merged, inputs.probe,
                    setting.layout, {setting.counts, setting.mask, background}, options)
      .contrast;
}

/// Those that all CPU kernels take, and groups that are empty or of one pattern.
std::vector<FusedCase> cases() {
  std::vector<FusedCase> all;
  for (const FusedCase& of : fused_cases())
    if (cpu::has_fft_plan(of.size)) all.push_back(of);
  for (const Interpolation way : {Interpolation::bilinear, Interpolation::probe_fourier}) {
    all.push_back({.modes = 2, .group_sizes = {1, 1, 1, 1}, .interpolation = way});
    all.push_back({.size = 20, .group_sizes = {1, 3, 1}, .interpolation = way});
    all.push_back({.group_sizes = {1, 2}, .interpolation = way, .merge_floor = 0.001});
    all.push_back({.group_sizes = {2, 1, 0}, .interpolation = way});
  }
  return all;
}

template <class T>
void expect_agreement(FusedCase of, double tolerance) {
  of.real = c10::CppTypeToScalarType<T>::value;
  const FusedInputs inputs = fused_inputs(of);
  const FusedAnswers expected = reference_answers(inputs);
  for (const int threads : {1, 2, 3, 5})
    for (const bool fixed : {false, true}) {
      const CpuAnswers found = by_cpu<T>(inputs, threads, fixed);
      const std::string how =
          to_string(of) + ", threads " + std::to_string(threads) + (fixed ? ", fixed" : "");
      EXPECT_LT(largest_mismatch(found.all, expected), tolerance) << how;
      const auto loss = expected[0].item<double>();
      EXPECT_NEAR(found.loss_alone, loss, tolerance * std::abs(loss)) << how;
      if (of.group_sizes.empty()) continue;
      EXPECT_NEAR(found.contrast, reference_contrast(inputs), tolerance) << how;
    }
}

TEST(FusedLoss, AgreesWithTheReferenceInFloat64OnAnyNumberOfThreads) {
  for (const FusedCase& of : cases()) expect_agreement<double>(of, 1e-10);
}

TEST(FusedLoss, AgreesWithTheReferenceInFloat32OnAnyNumberOfThreads) {
  for (const FusedCase& of : cases()) expect_agreement<float>(of, 1e-5);
}

TEST(FusedLoss, RefusesCornersBetweenPixelsWhereTheProbeIsMoved) {
  FusedInputs inputs = fused_inputs({.interpolation = Interpolation::probe_fourier});
  inputs.setting.layout.corners = inputs.setting.layout.corners + 0.25;
  inputs.setting.layout.rows += 1;
  inputs.setting.layout.cols += 1;
  EXPECT_THROW(reference_contrast(inputs), InvalidInput);
}

}  // namespace
}  // namespace ptyche
