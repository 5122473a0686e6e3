// The fused engine means what the reference engine means, at any size, batch and number of threads.
#include "ptyche/physics/group_loss.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>

#include "ptyche/core/error.h"
#include "ptyche/physics/patches.h"
#include "tests/support/checks.h"

namespace ptyche {
namespace {

/// A batch of groups with random patches, counts and probe.
struct Case {
  std::int64_t size = 32, modes = 1;
  std::vector<std::int64_t> group_sizes = {4};
  Interpolation interpolation = Interpolation::bilinear;
  at::ScalarType real = at::kDouble;
  LossKind kind = LossKind::poisson;
  bool half_merged = false, background = true;

  std::int64_t groups() const { return static_cast<std::int64_t>(group_sizes.size()); }
};

struct Batch {
  at::Tensor patches, merged, probe, background, positions, group, counts, mask;
};

/// Light falls off from the middle to a thousandth of its peak, as in a real probe.
at::Tensor probe_of(std::int64_t modes, std::int64_t size, at::ScalarType type) {
  const at::Tensor along = at::arange(size, at::kDouble) - static_cast<double>(size) / 2 + 0.5;
  const at::Tensor bell = (-(along / (0.27 * static_cast<double>(size))).square()).exp();
  const at::Tensor noise = random_tensor({modes, size, size}, at::kComplexDouble, 11) * 0.3 + 1;
  return (noise * bell.unsqueeze(1) * bell * 3).to(type);
}

Batch make_batch(const Case& c) {
  Batch batch;
  std::vector<std::int64_t> group, merged;
  for (std::size_t g = 0; g < c.group_sizes.size(); ++g)
    for (std::int64_t k = 0; k < c.group_sizes[g]; ++k) {
      if (!c.half_merged || k % 2 == 0) merged.push_back(static_cast<std::int64_t>(group.size()));
      group.push_back(static_cast<std::int64_t>(g));
    }
  const auto count = static_cast<std::int64_t>(group.size());
  const auto complex = at::toComplexType(c.real);
  batch.group = at::tensor(group, at::kLong);
  batch.merged = at::tensor(merged, at::kLong);
  batch.positions = random_tensor({count, 2}, at::kDouble, 1).mul(3.7);
  batch.patches =
      (random_tensor({batch.merged.numel(), c.size, c.size}, at::kComplexDouble, 2) * 0.3 + 1)
          .to(complex);
  batch.probe = probe_of(c.modes, c.size, complex);
  batch.background = (random_tensor({c.size, c.size}, at::kDouble, 3).square() + 0.2).to(c.real);
  batch.counts =
      random_tensor({count, c.size, c.size}, at::kDouble, 4).square().mul(4).round().to(c.real);
  batch.mask = random_tensor({c.size, c.size}, at::kDouble, 5).gt(-1.5);
  return batch;
}

/// Loss and its gradients by patches, probe, background and positions.
std::vector<at::Tensor> loss_and_gradients(const Case& c, const Batch& batch, Engine engine) {
  const at::Tensor patches = batch.patches.detach().clone().requires_grad_(true);
  const at::Tensor probe = batch.probe.detach().clone().requires_grad_(true);
  const at::Tensor background = batch.background.detach().clone().requires_grad_(true);
  const at::Tensor positions = batch.positions.detach().clone().requires_grad_(true);
  const CanvasLayout layout = lay_out(positions, batch.group, c.groups(), c.size, c.interpolation);
  const GroupLoss result = group_loss(
      patches, batch.merged, probe, layout,
      {batch.counts, batch.mask, c.background ? background : at::Tensor()}, {engine, c.kind, {}});
  (result.loss * 0.7).backward();
  std::vector<at::Tensor> all{result.loss.detach(), at::scalar_tensor(result.contrast, at::kDouble),
                              patches.grad(), probe.grad(), positions.grad()};
  if (c.background) all.push_back(background.grad());
  return all;
}

/// |a - b| / |b|, and |a| where b is 0.
double mismatch(const at::Tensor& a, const at::Tensor& b) {
  return b.abs().max().item<double>() > 0 ? relative_difference(a.to(b.scalar_type()), b)
                                          : a.abs().max().item<double>();
}

void expect_engines_agree(const Case& c, double tolerance) {
  const char* names[] = {"loss", "contrast", "patches", "probe", "positions", "background"};
  const Batch batch = make_batch(c);
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
      const Case c{.size = 16,
                   .modes = 2,
                   .group_sizes = {3, 2},
                   .interpolation = interpolation,
                   .kind = kind};
      const Batch batch = make_batch(c);
      const auto loss = [&](const at::Tensor& patches, const at::Tensor& probe,
                            const at::Tensor& background, const at::Tensor& positions) {
        const CanvasLayout layout = lay_out(positions, batch.group, 2, c.size, interpolation);
        return group_loss(patches, batch.merged, probe, layout,
                          {batch.counts, batch.mask, background}, {Engine::fused, kind, {}})
            .loss;
      };
      const auto& [o, m, p, b, r, g, n, q] = batch;
      EXPECT_LT(gradient_mismatch([&](auto& x) { return loss(x, p, b, r); }, o), 1e-6);
      EXPECT_LT(gradient_mismatch([&](auto& x) { return loss(o, p, x, r); }, b), 1e-6);
      if (interpolation == Interpolation::bilinear)
        EXPECT_LT(gradient_mismatch([&](auto& x) { return loss(o, p, b, x); }, r), 1e-6);
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

/// The first `patterns` patterns of a batch and their groups.
Batch first_groups(const Batch& batch, std::int64_t patterns) {
  Batch few = batch;
  for (at::Tensor* listed : {&few.patches, &few.merged, &few.positions, &few.group, &few.counts})
    *listed = listed->slice(0, 0, patterns);
  return few;
}

/// A group of a batch is the same whatever else is in the batch.
class PlantedGroups : public testing::TestWithParam<std::int64_t> {};

TEST_P(PlantedGroups, DoNotSeeEachOtherAtAnyBatchSize) {
  const std::int64_t of = GetParam();
  Case c{.size = 8, .group_sizes = {}, .real = at::kFloat, .background = false};
  c.group_sizes.assign(130, of);
  Batch all = make_batch(c);
  all.patches.slice(0, of).mul_(5);  // what all other groups see
  c.group_sizes = {of};
  const at::Tensor alone = loss_and_gradients(c, first_groups(all, of), Engine::fused)[2];
  for (std::int64_t batch = 1; batch <= 130; ++batch) {
    c.group_sizes.assign(static_cast<std::size_t>(batch), of);
    const auto found = loss_and_gradients(c, first_groups(all, batch * of), Engine::fused);
    EXPECT_LT(relative_difference(found[2].slice(0, 0, of), alone), 1e-5) << "batch of " << batch;
  }
}

INSTANTIATE_TEST_SUITE_P(OfSize, PlantedGroups, testing::Values(1, 4, 9));

/// Patterns made from an object, at whole-pixel positions: nothing fits better than the object.
TEST(BothEngines, AreAtRestAtTheTrueObjectOnWholePixels) {
  const at::Tensor object = random_tensor({60, 60}, at::kComplexDouble, 2) * 0.3 + 1;
  const at::Tensor positions = random_tensor({6, 2}, at::kDouble, 3).mul(4).round() + 25;
  const at::Tensor probe = probe_of(1, 32, at::kComplexDouble);
  const at::Tensor patches = extract_patches(object, positions - 16.0, 32);
  const Case c{.size = 32, .group_sizes = {6}};
  Batch batch = make_batch(c);
  batch.positions = positions;
  batch.probe = probe;
  batch.patches = patches;
  const at::Tensor waves = at::fft_fft2(patches * probe, c10::nullopt, {-2, -1}, "ortho");
  batch.counts = at::view_as_real(waves).square().sum(-1) + batch.background;
  for (const Engine engine : {Engine::fused, Engine::reference}) {
    batch.patches = patches;
    const double at_rest = loss_and_gradients(c, batch, engine)[2].norm().item().toDouble();
    batch.patches = patches * 1.01;
    const double disturbed = loss_and_gradients(c, batch, engine)[2].norm().item().toDouble();
    EXPECT_LT(at_rest, 1e-5 * disturbed) << to_string(engine);
  }
}

TEST(GroupLoss, TakesCountsOfAnyTypeInThePrecisionOfThePatches) {
  const Case c{.group_sizes = {3}, .real = at::kFloat};
  Batch batch = make_batch(c);
  const at::Tensor expected = loss_and_gradients(c, batch, Engine::fused)[2];
  batch.counts = batch.counts.to(at::kDouble);
  batch.background = batch.background.to(at::kDouble);
  EXPECT_TRUE(at::equal(loss_and_gradients(c, batch, Engine::fused)[2], expected));
  batch.counts = batch.counts.to(at::kShort);
  EXPECT_TRUE(at::equal(loss_and_gradients(c, batch, Engine::fused)[2], expected));
}

TEST(GroupLoss, NamesTheShapesThatDoNotMatch) {
  const Case c{.group_sizes = {3}};
  for (const Engine engine : {Engine::fused, Engine::reference}) {
    Batch batch = make_batch(c);
    batch.counts = batch.counts.slice(0, 0, 2);
    try {
      loss_and_gradients(c, batch, engine);
      FAIL();
    } catch (const InvalidInput& error) {
      EXPECT_NE(std::string(error.what()).find("3 x 32 x 32"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("2 x 32 x 32"), std::string::npos) << error.what();
    }
  }
}

TEST(FusedEngine, RefusesWhatItDoesNotCoverAndNamesTheEngineThatDoes) {
  const Case c{.size = 134, .group_sizes = {1}, .real = at::kFloat};  // 134 = 2 x 67
  const Batch batch = make_batch(c);
  try {
    loss_and_gradients(c, batch, Engine::fused);
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find("--engine reference"), std::string::npos);
  }
  EXPECT_NO_THROW(loss_and_gradients(c, batch, Engine::reference));
}

/// Peak memory of this process since the last reset, bytes; 0 where the system does not tell.
double peak_bytes(bool reset) {
  if (reset) std::ofstream("/proc/self/clear_refs") << "5";
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) * 1024;
  return 0;
}

TEST(FusedEngine, NeedsMemoryForThreadsAndCanvasOnlyNotForPatterns) {
  const Case c{.size = 64, .group_sizes = {512}, .real = at::kFloat, .background = false};
  const Batch batch = make_batch(c);
  const CanvasLayout layout = lay_out(batch.positions, batch.group, 1, 64, c.interpolation);
  const at::Tensor patches = batch.patches.clone().requires_grad_(true);
  const double before = peak_bytes(true);
  if (before == 0) GTEST_SKIP() << "no /proc/self/status";
  const GroupLoss result =
      group_loss(patches, batch.merged, batch.probe, layout, {batch.counts, batch.mask, {}});
  const double outputs = 512 * 64 * 64 * 8, more = peak_bytes(false) - before - outputs;
  const double canvas = static_cast<double>(layout.rows * layout.cols) * 4;
  EXPECT_LT(more, 4e6 + at::get_num_threads() * 20 * canvas);
  EXPECT_GT(result.loss.item<double>(), 0);
}

}  // namespace
}  // namespace ptyche
