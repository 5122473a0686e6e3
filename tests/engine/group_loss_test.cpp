// The fused engine means what the reference engine means, at any size, batch and number of threads.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "ptyche/core/error.h"
#include "ptyche/engine/loss.h"
#include "ptyche/physics/canvas.h"
#include "tests/support/checks.h"
#include "tests/support/loss_cases.h"

namespace ptyche {
namespace {

/// |a - b| / |b|, and |a| where b is 0.
double mismatch(const at::Tensor& a, const at::Tensor& b) {
  return b.abs().max().item<double>() > 0 ? relative_difference(a.to(b.scalar_type()), b)
                                          : a.abs().max().item<double>();
}

void expect_engines_agree(const LossCase& c, double tolerance) {
  const char* names[] = {"loss", "contrast", "patches", "probe", "positions", "background"};
  const LossBatch batch = make_batch(c);
  const auto fused = loss_and_gradients(c, batch, Engine::fused);
  const auto reference = loss_and_gradients(c, batch, Engine::reference);
  for (std::size_t i = 0; i < fused.size(); ++i)
    EXPECT_LT(mismatch(fused[i], reference[i]), tolerance)
        << names[i] << ": N " << c.size << ", " << c.groups() << " groups of "
        << c.group_sizes.front() << ", modes " << c.modes << ", " << to_string(c.interpolation);
}

constexpr Interpolation kBoth[] = {Interpolation::bilinear, Interpolation::probe_fourier};

TEST(FusedEngine, AgreesWithTheReferenceInFloat64) {
  for (const Interpolation interpolation : kBoth)
    for (const LossKind kind :
         {LossKind::poisson, LossKind::amplitude_square, LossKind::amplitude_absolute})
      for (const bool half : {false, true})
        expect_engines_agree({.size = 32,
                              .modes = 2,
                              .group_sizes = {4, 1, 7},
                              .interpolation = interpolation,
                              .kind = kind,
                              .half_merged = half},
                             1e-11);
}

TEST(BothEngines, DoNotSeeWhatStandsUnderTheMask) {
  for (const LossInfo& loss : losses())
    for (const Engine engine : {Engine::fused, Engine::reference}) {
      const LossCase c{.modes = 2, .kind = loss.kind, .intensities = true};
      LossBatch batch = make_batch(c);
      const auto clean = loss_and_gradients(c, batch, engine);
      const at::Tensor masked = batch.mask.logical_not();
      batch.counts = batch.counts.masked_fill(masked, NAN);
      batch.background = batch.background.masked_fill(masked, NAN);
      const auto dirty = loss_and_gradients(c, batch, engine);
      for (std::size_t i = 0; i < clean.size(); ++i)
        EXPECT_TRUE(at::equal(dirty[i], clean[i]))
            << loss.name << " " << to_string(engine) << " " << i;
    }
}

TEST(FusedEngine, AgreesWithTheReferenceInTheNearField) {
  for (const Interpolation interpolation : kBoth)
    for (const std::int64_t size : {16, 20, 28, 32, 96, 128})
      for (const std::int64_t modes : {1, 3})
        expect_engines_agree({.size = size,
                              .modes = modes,
                              .group_sizes = {4, 1},
                              .interpolation = interpolation,
                              .near_field = true},
                             1e-10);
}

TEST(FusedEngine, AgreesWithTheReferenceAtEverySize) {
  for (const Interpolation interpolation : kBoth)
    for (const std::int64_t size : {16, 20, 26, 28, 32, 64, 96, 100, 128, 256}) {
      expect_engines_agree({.size = size, .group_sizes = {3}, .interpolation = interpolation},
                           1e-11);
      expect_engines_agree(
          {.size = size, .group_sizes = {3}, .interpolation = interpolation, .real = at::kFloat},
          1e-5);
    }
}

TEST(FusedEngine, AgreesWithTheReferenceForEveryGroupSizeModesAndBatch) {
  for (const Interpolation interpolation : kBoth) {
    for (const std::int64_t of : {1, 2, 4, 9, 16, 64})
      expect_engines_agree(
          {.group_sizes = {of}, .interpolation = interpolation, .real = at::kFloat}, 1e-5);
    for (const std::int64_t modes : {1, 2, 3, 4})
      expect_engines_agree({.modes = modes,
                            .group_sizes = {3, 5},
                            .interpolation = interpolation,
                            .real = at::kFloat},
                           1e-5);
    for (const std::size_t batch : {1, 3, 16, 100})
      expect_engines_agree({.group_sizes = std::vector<std::int64_t>(batch, 2),
                            .interpolation = interpolation,
                            .real = at::kFloat,
                            .background = false},
                           1e-5);
  }
}

TEST(FusedEngine, HasTheGradientOfCentralDifferencesInEveryArgument) {
  for (const Interpolation interpolation : kBoth)
    for (const LossKind kind : {LossKind::poisson, LossKind::amplitude_square}) {
      const LossCase c{.size = 16,
                       .modes = 2,
                       .group_sizes = {3, 2},
                       .interpolation = interpolation,
                       .kind = kind};
      const LossBatch batch = make_batch(c);
      const auto loss = [&](const at::Tensor& patches, const at::Tensor& probe,
                            const at::Tensor& background, const at::Tensor& positions) {
        const CanvasLayout layout = lay_out(positions, batch.group, 2, c.size, interpolation);
        return group_loss(patches, batch.merged, probe, layout,
                          {batch.counts, batch.mask, background}, {Engine::fused, kind, {}})
            .loss;
      };
      const at::Tensor &o = batch.transmission, &p = batch.probe, &b = batch.background;
      const at::Tensor& r = batch.positions;
      EXPECT_LT(gradient_mismatch([&](auto& x) { return loss(x, p, b, r); }, o), 1e-6);
      EXPECT_LT(gradient_mismatch([&](auto& x) { return loss(o, p, x, r); }, b), 1e-6);
      if (interpolation == Interpolation::bilinear) {
        EXPECT_LT(gradient_mismatch([&](auto& x) { return loss(o, p, b, x); }, r), 1e-6);
      }
    }
}

/// The merge weights |P|^2 are constants for the gradient: the probe and its shifts are checked
/// where nothing is merged.
TEST(FusedEngine, HasTheGradientOfCentralDifferencesInObjectProbeAndShift) {
  const at::Tensor object = random_tensor({30, 28}, at::kComplexDouble, 2) * 0.3 + 1;
  const at::Tensor probe = probe_of(2, 16, at::kComplexDouble);
  const at::Tensor corners = random_tensor({5, 2}, at::kDouble, 3) * 1.5 + 6.2;
  const at::Tensor shifts = random_tensor({5, 2}, at::kDouble, 4) * 0.2;
  const Measured measured{
      random_tensor({5, 16, 16}, at::kDouble, 5).square() * 4, at::ones({16, 16}, at::kBool), {}};
  const auto loss = [&](const at::Tensor& o, const at::Tensor& p, const at::Tensor& r,
                        const at::Tensor& d) { return object_loss(o, p, r, d, measured); };
  const at::Tensor whole = corners.round(), none;
  EXPECT_LT(gradient_mismatch([&](auto& x) { return loss(x, probe, corners, none); }, object),
            1e-6);
  EXPECT_LT(gradient_mismatch([&](auto& x) { return loss(object, x, corners, none); }, probe),
            1e-6);
  EXPECT_LT(gradient_mismatch([&](auto& x) { return loss(object, probe, x, none); }, corners),
            1e-6);
  EXPECT_LT(gradient_mismatch([&](auto& x) { return loss(x, probe, whole, shifts); }, object),
            1e-6);
  EXPECT_LT(gradient_mismatch([&](auto& x) { return loss(object, x, whole, shifts); }, probe),
            1e-6);
  EXPECT_LT(gradient_mismatch([&](auto& x) { return loss(object, probe, whole, x); }, shifts),
            1e-6);
}

TEST(FusedEngine, AgreesWithTheReferenceOnAWholeObject) {
  const at::Tensor object = random_tensor({90, 81}, at::kComplexFloat, 2) * 0.3 + 1;
  const at::Tensor corners = random_tensor({7, 2}, at::kDouble, 3) * 2.5 + 9;
  const Measured measured{random_tensor({7, 64, 64}, at::kFloat, 5).square() * 4,
                          at::ones({64, 64}, at::kBool), at::ones({64, 64})};
  const auto gradient = [&](Engine engine) {
    const at::Tensor x = object.clone().requires_grad_(true);
    object_loss(x, probe_of(3, 64, at::kComplexFloat), corners, {}, measured, {engine}).backward();
    return x.grad();
  };
  EXPECT_LT(relative_difference(gradient(Engine::fused), gradient(Engine::reference)), 1e-5);
}

/// At a whole pixel the bilinear derivative is the one towards larger row and col.
TEST(BothEngines, TakeTheForwardSlopeAtAWholePixel) {
  const at::Tensor object = random_tensor({24, 24}, at::kComplexDouble, 2) * 0.3 + 1;
  const at::Tensor probe = probe_of(1, 16, at::kComplexDouble);
  const Measured measured{
      random_tensor({1, 16, 16}, at::kDouble, 5).square() * 4, at::ones({16, 16}, at::kBool), {}};
  for (const Engine engine : {Engine::fused, Engine::reference}) {
    const at::Tensor corner = at::tensor({3.0, 4.0}, at::kDouble).view({1, 2}).requires_grad_(true);
    const auto loss = [&](const at::Tensor& at) {
      return object_loss(object, probe, at, {}, measured, {engine});
    };
    loss(corner).backward();
    const double step = 1e-6;
    for (std::int64_t axis = 0; axis < 2; ++axis) {
      at::Tensor further = corner.detach().clone();
      further[0][axis] += step;
      const double slope = (loss(further) - loss(corner.detach().clone())).item<double>() / step;
      EXPECT_NEAR(corner.grad()[0][axis].item<double>(), slope, 1e-3 * std::abs(slope));
    }
  }
}

/// Patterns made from an object, at whole-pixel positions: nothing fits better than the object.
TEST(BothEngines, AreAtRestAtTheTrueObjectOnWholePixels) {
  const at::Tensor object = random_tensor({60, 60}, at::kComplexDouble, 2) * 0.3 + 1;
  const at::Tensor positions = random_tensor({6, 2}, at::kDouble, 3).mul(4).round() + 25;
  const at::Tensor probe = probe_of(1, 32, at::kComplexDouble);
  const at::Tensor patches = extract_patches(object, positions - 16.0, 32);
  const LossCase c{.size = 32, .group_sizes = {6}};
  LossBatch batch = make_batch(c);
  batch.positions = positions;
  batch.probe = probe;
  batch.transmission = patches;
  const at::Tensor waves = at::fft_fft2(patches * probe, c10::nullopt, {-2, -1}, "ortho");
  batch.counts = at::view_as_real(waves).square().sum(-1) + batch.background;
  for (const Engine engine : {Engine::fused, Engine::reference}) {
    batch.transmission = patches;
    const double at_rest = loss_and_gradients(c, batch, engine)[2].norm().item().toDouble();
    batch.transmission = patches * 1.01;
    const double disturbed = loss_and_gradients(c, batch, engine)[2].norm().item().toDouble();
    EXPECT_LT(at_rest, 1e-5 * disturbed) << to_string(engine);
  }
}

}  // namespace
}  // namespace ptyche
