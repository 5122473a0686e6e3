// The fused engine on the CPU against the reference engine: every way through it, with dark pixels,
// on any number of threads.
#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/engine/fused_call.h"
#include "tests/support/loss_cases.h"

namespace ptyche {
namespace {

struct CpuAnswers {
  LossAnswers all;
  double contrast = 0, loss_alone = 0;
};

/// `fixed`: the corners are constants, which opens shorter ways.
template <class T>
CpuAnswers by_cpu(const LossCase& of, const LossBatch& batch, int threads, bool fixed) {
  CanvasLayout layout = layout_of(of, batch);
  layout.corners = layout.corners.clone().requires_grad_(!fixed);
  std::vector<at::Tensor> kept;
  cpu::LossInputs<T> inputs = fused_inputs<T>(batch.transmission, batch.merged, batch.probe, layout,
                                              measured_of(of, batch), options_of(of), kept);
  const double loss_alone = cpu::fused_loss(inputs, threads).loss;
  const auto [transmission, probe, background, position, intensity] = take_gradients(inputs);
  const cpu::LossResult result = cpu::fused_loss(inputs, threads);
  const double re = result.sum_re / result.pixels, im = result.sum_im / result.pixels;
  const double mean = re * re + im * im;
  return {{at::scalar_tensor(result.loss, at::kDouble), transmission, probe, background,
           fixed ? at::Tensor() : position.slice(1, 0, 2), position.slice(1, 2, 4),
           of.intensities ? intensity : at::Tensor()},
          std::sqrt(std::max(0.0, result.sum_square / result.pixels - mean) / mean),
          loss_alone};
}

double reference_contrast(const LossCase& of, const LossBatch& batch, const CanvasLayout& layout) {
  return group_loss(batch.transmission.to(at::kComplexDouble), batch.merged, batch.probe, layout,
                    measured_of(of, batch), options_of(of, Engine::reference))
      .contrast;
}

/// Those that all CPU kernels take, and groups that are empty or of one pattern.
std::vector<LossCase> cases() {
  std::vector<LossCase> all;
  for (const LossCase& of : scattered_cases())
    if (cpu::has_fft(of.size)) all.push_back(of);
  for (const Interpolation way : {Interpolation::bilinear, Interpolation::probe_fourier}) {
    all.push_back({.modes = 2, .group_sizes = {1, 1, 1, 1}, .interpolation = way});
    all.push_back({.size = 20, .group_sizes = {1, 3, 1}, .interpolation = way});
    all.push_back({.group_sizes = {1, 2}, .interpolation = way, .merge_floor = 0.001});
    all.push_back({.group_sizes = {2, 1, 0}, .interpolation = way});
    all.push_back({.modes = 2, .group_sizes = {}, .interpolation = way, .intensities = true});
    all.push_back({.group_sizes = {3, 2},
                   .interpolation = way,
                   .kind = LossKind::amplitude_square,
                   .near_field = true,
                   .intensities = true});
  }
  for (LossCase& of : all) of.scattered = true;
  return all;
}

template <class T>
void expect_agreement(LossCase of, double tolerance) {
  of.real = c10::CppTypeToScalarType<T>::value;
  const LossBatch batch = make_batch(of);
  const LossAnswers expected = reference_answers(of, batch);
  for (const int threads : {1, 2, 3, 5})
    for (const bool fixed : {false, true}) {
      const CpuAnswers found = by_cpu<T>(of, batch, threads, fixed);
      const std::string how =
          to_string(of) + ", threads " + std::to_string(threads) + (fixed ? ", fixed" : "");
      EXPECT_LT(largest_mismatch(found.all, expected), tolerance) << how;
      const auto loss = expected[0].item<double>();
      EXPECT_NEAR(found.loss_alone, loss, tolerance * std::abs(loss)) << how;
      if (of.group_sizes.empty()) continue;
      EXPECT_NEAR(found.contrast, reference_contrast(of, batch, layout_of(of, batch)), tolerance)
          << how;
    }
}

TEST(FusedLoss, AgreesWithTheReferenceInFloat64OnAnyNumberOfThreads) {
  for (const LossCase& of : cases()) expect_agreement<double>(of, 1e-10);
}

TEST(FusedLoss, AgreesWithTheReferenceInFloat32OnAnyNumberOfThreads) {
  for (const LossCase& of : cases()) expect_agreement<float>(of, 1e-5);
}

TEST(FusedLoss, RefusesCornersBetweenPixelsWhereTheProbeIsMoved) {
  const LossCase of{.interpolation = Interpolation::probe_fourier};
  const LossBatch batch = make_batch(of);
  CanvasLayout layout = layout_of(of, batch);
  layout.corners = layout.corners + 0.25;
  layout.rows += 1;
  layout.cols += 1;
  EXPECT_THROW(reference_contrast(of, batch, layout), InvalidInput);
}

}  // namespace
}  // namespace ptyche
