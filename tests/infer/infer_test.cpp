#include "ptyche/infer/infer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/engine/int8_convolution.h"
#include "ptyche/evaluate/evaluate.h"
#include "ptyche/group/fixed_groups.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/model/shipped_model.h"
#include "ptyche/simulate/simulate.h"
#include "ptyche/stitch/stitch.h"
#include "ptyche/train/train.h"
#include "tests/support/checks.h"
#include "tests/support/refusal.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

Model trained_model(const Scan& scan) {
  TrainOptions options;
  options.epochs = 2;
  options.probe_start_epochs = 2;
  options.network.widths = {8, 16};
  return train(scan, make_groups(scan, {.size = 9, .merged = 4}), options);
}

TEST(Infer, GivesTheSamePatchesForAnyBatch) {
  const Scan scan = small_scan(100);
  const Model model = trained_model(scan);
  const at::Tensor whole = infer(model, scan, {.batch = 1000}).patches;
  for (const std::int64_t batch : {1, 7, 16, 100})
    EXPECT_LT((infer(model, scan, {.batch = batch}).patches - whole).abs().max().item<double>(),
              1e-5)
        << batch;
}

TEST(Infer, InBytesGivesTheImageOfFloatsAndLeavesTheModelAsItWas) {
  if (!processor_multiplies_bytes()) GTEST_SKIP() << "this processor does not multiply bytes";
  const Scan scan = simulate(
      {.pattern_size = 32, .frames = 60, .step_px = 3, .photons = 1e4, .probe_diameter_px = 12});
  const Model model = model_for(scan, shipped_model());
  const at::Tensor frames = scan.frames_with(FrameUse::used);
  const auto image = [&](Precision precision) {
    return network_image(model, scan, {.precision = precision});
  };
  const auto deviance = [&](const Reconstruction& of) {
    return data_fit(of, scan, frames, true).deviance_per_photon;
  };
  const Reconstruction exact = image(Precision::float32), bytes = image(Precision::int8);
  EXPECT_NEAR(deviance(bytes), deviance(exact), 0.02 * deviance(exact));
  EXPECT_FALSE(at::equal(bytes.object, exact.object));
  EXPECT_FALSE(at::equal(bytes.object, image(Precision::bfloat16).object));
  EXPECT_TRUE(at::equal(image(Precision::float32).object, exact.object));
}

TEST(Infer, RefusesBytesWhereTheProcessorWouldAddThemUpWrongly) {
  if (processor_multiplies_bytes()) GTEST_SKIP() << "this processor multiplies bytes";
  const Scan scan = small_scan(30);
  const Model model = model_for(scan, shipped_model());
  const std::string said = message_of([&] { infer(model, scan, {.precision = Precision::int8}); });
  EXPECT_NE(said.find("avx512_vnni"), std::string::npos) << said;
}

TEST(Infer, RefusesBytesForANetworkThatHasNone) {
  if (!processor_multiplies_bytes()) GTEST_SKIP() << "this processor does not multiply bytes";
  const Scan scan = small_scan(30);
  const Model model =
      new_model(scan, scan.probe(), {.name = "supervised", .filters_scale = 1}, StemOptions{}, 1);
  const std::string said = message_of([&] { infer(model, scan, {.precision = Precision::int8}); });
  EXPECT_NE(said.find("found supervised"), std::string::npos) << said;
}

TEST(BestBackground, IsTheOneThatWasAddedAndNoneWhereThereIsNone) {
  ScanFields fields = small_scan(60).fields();
  const at::Tensor added =
      (at::arange(16, at::kFloat).view({1, 16}) - 4).clamp_min(0).expand({16, 16}) / 4;
  fields.counts = fields.counts + added;
  const Scan scan(fields);
  Reconstruction truth = empty_reconstruction(scan, Interpolation::probe_fourier);
  truth.object = scan.truth().unsqueeze(0);
  truth.origin_row = truth.origin_col = 0;
  const at::Tensor found = best_background(truth, scan);
  EXPECT_LT((found - added).abs().max().item<double>(), 0.02);
}

TEST(Polished, ExplainsThePatternsBetterByTheSameProbe) {
  const Scan scan = simulate(
      {.pattern_size = 32, .frames = 100, .step_px = 3, .photons = 1e5, .probe_diameter_px = 12});
  const Model model = model_for(scan, shipped_model());
  const Reconstruction plain = network_image(model, scan, {});
  const Reconstruction image = inferred_image(model, scan, {.polish = true}).image;
  const at::Tensor frames = scan.frames_with(FrameUse::used);
  const auto left = [&](const Reconstruction& of) {
    const DataFit fit = data_fit(of, scan, frames, true);
    return fit.deviance_per_photon - fit.deviance_per_photon_floor;
  };
  EXPECT_LT(left(image), 0.7 * left(plain));
  EXPECT_TRUE(image.probe.equal(plain.probe));
  EXPECT_TRUE(image.object.equal(polished(plain, scan, at::kCPU).object));
}

TEST(Polished, LooksOnlyAtUsedPatterns) {
  const Scan scan = small_scan(60);
  at::Tensor use = at::zeros({60}, at::kByte);
  use.slice(0, 50).fill_(static_cast<int>(FrameUse::held_out));
  const Scan held = scan.with_frame_use(use);
  ScanFields fields = held.fields();
  fields.counts = fields.counts.clone();
  fields.counts.slice(0, 50).fill_(1);
  const Reconstruction start = empty_reconstruction(held, Interpolation::probe_fourier);
  EXPECT_TRUE(polished(start, held, at::kCPU)
                  .object.equal(polished(start, Scan(std::move(fields)), at::kCPU).object));
}

TEST(Infer, TakesPatternsOfAnyEvenSize) {
  for (const std::int64_t size : {18, 22, 30, 100}) {
    const Scan scan = simulate({.pattern_size = size,
                                .frames = 9,
                                .step_px = 3,
                                .probe_diameter_px = 0.4 * static_cast<double>(size)});
    const at::Tensor patches = infer(trained_model(scan), scan, {}).patches;
    EXPECT_EQ(patches.sizes(), at::IntArrayRef({9, size, size}));
    EXPECT_TRUE(at::isfinite(at::view_as_real(patches)).all().item<bool>()) << size;
  }
}

/// Trained on batches of 16 groups.
Model trained_original(const Scan& scan, std::int64_t gridsize, bool object_big) {
  TrainOptions options;
  options.epochs = 1;
  options.network = {.name = "ptychopinn", .gridsize = gridsize, .filters_scale = 1};
  options.network.object_big = object_big;
  options.groups_per_batch = 16;
  options.probe_start = "guess";
  options.precision = Precision::float32;
  const at::Tensor groups =
      fixed_groups(scan, {.gridsize = gridsize, .count = 20, .neighbours = gridsize * gridsize});
  return train(scan, groups_of(groups, 1), options);
}

TEST(Infer, OfTheOriginalsNetworkGivesTheSamePatchesForAnyBatchAndGridsize) {
  const Scan scan = simulate({.frames = 20});
  for (const std::int64_t gridsize : {1, 2, 3})
    for (const bool object_big : {true, false}) {
      const Model model = trained_original(scan, gridsize, object_big);
      EXPECT_TRUE(std::isfinite(model.history.back().loss));
      const Patches whole = infer(model, scan, {.batch = 10000});
      EXPECT_EQ(whole.patches.size(0), 20 * gridsize * gridsize);
      for (const std::int64_t batch : {1, 7, 100})
        EXPECT_LT(relative_difference(infer(model, scan, {.batch = batch}).patches, whole.patches),
                  1e-5)
            << batch << " gridsize " << gridsize << " object_big " << object_big;
    }
}

TEST(Infer, RefusesPatternsOfAnotherSizeAndNamesBoth) {
  const Scan scan = small_scan();
  Model model = trained_model(scan);
  model.probe = at::zeros({1, 32, 32}, at::kComplexFloat);
  try {
    infer(model, scan, {});
    FAIL();
  } catch (const InvalidInput& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("32 x 32"), std::string::npos) << text;
    EXPECT_NE(text.find("16 x 16"), std::string::npos) << text;
  }
}

TEST(Infer, TakesOnlyPatternsOfTheUseAskedFor) {
  const Scan scan = small_scan();
  const Model model = trained_model(scan);
  at::Tensor use = scan.frame_use().clone();
  use.slice(0, 0, 4).fill_(static_cast<std::int64_t>(FrameUse::unseen));
  const Patches patches =
      infer(model, scan.with_frame_use(use), {.batch = 3, .frames = FrameUse::unseen});
  EXPECT_TRUE(at::equal(patches.frames, at::arange(4, at::kLong)));
  EXPECT_THROW(infer(model, scan, {.batch = 3, .frames = FrameUse::unseen}), InvalidInput);
}

TEST(Infer, RefusesABatchOfLessThanNothing) {
  const Scan scan = small_scan();
  EXPECT_THROW(infer(trained_model(scan), scan, {.batch = -1}), InvalidInput);
}

TEST(Infer, TheSameObjectAtTenTimesThePhotonsGivesTheSamePatches) {
  const Scan scan = small_scan();
  const Model model = trained_model(scan);
  ScanFields fields = scan.fields();
  fields.counts = fields.counts * 10;
  fields.probe = fields.probe * std::sqrt(10.0);
  const Patches bright = infer(model, Scan(std::move(fields)), {});
  const Patches known = infer(model, scan, {});
  EXPECT_LT(relative_difference(bright.patches.abs(), known.patches.abs()), 0.02);
  EXPECT_LT(relative_difference(bright.probe, known.probe * std::sqrt(10.0)), 1e-5);
}

}  // namespace
}  // namespace ptyche
