#include "ptyche/model/model.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "ptyche/engine/int8_convolution.h"
#include "ptyche/model/shipped_model.h"
#include "tests/support/checks.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

Model model_for(const Scan& scan) {
  return new_model(scan, scan.probe(), {.widths = {8, 16}}, {}, 1);
}

Scan with_masked_pixel(double value) {
  ScanFields fields = small_scan().fields();
  fields.mask = at::ones({16, 16}, at::kBool);
  fields.mask[3][9] = false;
  fields.counts = fields.counts.clone();
  fields.counts.select(1, 3).select(1, 9).fill_(value);
  return Scan(std::move(fields));
}

TEST(NewModel, WhatStandsInMaskedPixelsDoesNotChangeTheInputScale) {
  EXPECT_EQ(model_for(with_masked_pixel(4e9)).input_scale,
            model_for(with_masked_pixel(0)).input_scale);
}

TEST(InBytes, ByDefaultOfOurNetworkWhereTheProcessorIsFastWithThemAndOfNoOther) {
  const Scan scan = small_scan();
  const bool fast = processor_has_fast_bfloat16() && processor_multiplies_bytes();
  const Model ours = model_for(scan);
  EXPECT_EQ(in_bytes(ours, Precision::automatic).network != ours.network, fast);
  EXPECT_EQ(in_bytes(ours, Precision::bfloat16).network, ours.network);
  const Model other = new_model(scan, scan.probe(), {.name = "supervised"}, {}, 1);
  EXPECT_EQ(in_bytes(other, Precision::automatic).network, other.network);
}

TEST(AtDose, OfTheScanThatItWasTrainedOnIsTheModelItself) {
  const Scan scan = small_scan();
  const Model model = model_for(scan), same = at_dose_of(scan, model);
  EXPECT_TRUE(at::equal(same.stem_probe, model.stem_probe));
  EXPECT_EQ(same.input_scale, model.input_scale);
}

TEST(AtDose, ScalesProbeAndBackgroundByTheRatioOfThePhotonsAndSaysSo) {
  const Scan scan = small_scan();
  Model model = model_for(scan);
  model.background = at::ones({16, 16});
  testing::internal::CaptureStderr();
  const Model lit = at_dose_of(scan.with_probe(scan.probe() * 3), model);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("9 times the photons"), std::string::npos);
  EXPECT_LT(relative_difference(lit.probe, 3 * model.probe), 1e-6);
  EXPECT_LT(relative_difference(lit.stem_probe, 3 * model.stem_probe), 1e-6);
  EXPECT_LT(relative_difference(lit.background, 9 * model.background), 1e-6);
  EXPECT_NEAR(lit.input_scale, model.input_scale / 3, 1e-6 * model.input_scale);
}

TEST(AtDose, OfAModelThatDoesNotKnowItsOwnChangesNothing) {
  const Scan scan = small_scan();
  Model model = model_for(scan);
  model.photons = 0;
  EXPECT_TRUE(at::equal(at_dose_of(scan.with_probe(scan.probe() * 3), model).probe, model.probe));
}

/// Four patterns of 64 x 64 pixels on a square of `step` px, all alike.
Scan four_large_patterns(double step) {
  ScanFields fields = small_scan().fields();
  fields.counts = at::ones({4, 64, 64});
  fields.positions =
      at::tensor({40.0, 40.0, 40.0, 40 + step, 40 + step, 40.0, 40 + step, 40 + step}).view({4, 2});
  fields.probe = at::ones({1, 64, 64}, at::kComplexFloat);
  fields.mask = fields.truth = fields.frame_use = at::Tensor();
  return Scan(std::move(fields));
}

TEST(PatchesOf, ANetworkThatGivesOnePatchForAGroupShowsEachPatternItsPartOfIt) {
  const Scan scan = four_large_patterns(6);
  NetworkOptions options{.name = "ptychopinn", .gridsize = 2, .filters_scale = 1};
  options.object_big = false;
  const Model model = new_model(scan, scan.probe(), options, {}, 1);
  const at::NoGradGuard no_grad;
  const at::Tensor frames = at::arange(4, at::kLong);
  const at::Tensor seen = patches_of(model, scan, frames, input_channels(model, scan, frames));
  ASSERT_EQ(seen.size(0), 4);
  // Pattern 3 lies 6 pixels further down and right than pattern 0.
  EXPECT_LT(relative_difference(seen[3].slice(0, 0, 55).slice(1, 0, 55),
                                seen[0].slice(0, 6, 61).slice(1, 6, 61)),
            1e-6);
  EXPECT_TRUE(at::equal(seen[0][0], at::ones({64}, at::kComplexFloat)));
}

Scan with_hash(const Scan& scan, const std::string& hash) {
  ScanFields fields = scan.fields();
  fields.input_hash = hash;
  return Scan(std::move(fields));
}

/// Of a scan "one" with a probe twice, and "two" with one three times as strong.
Model model_of_two() {
  const Scan scan = small_scan();
  Model model = model_for(with_hash(scan, "one"));
  model.probe = 2 * scan.probe();
  model.more.push_back(untrained_on(with_hash(scan, "two"), 3 * scan.probe(), {}));
  return model;
}

TEST(ModelFor, OfOneScanKeepsItsProbeForAnyScan) {
  const Scan scan = small_scan();
  Model model = model_for(with_hash(scan, "one"));
  model.probe = 2 * scan.probe();
  EXPECT_TRUE(at::equal(model_for(with_hash(scan, "other"), model).probe, model.probe));
}

TEST(ModelFor, OfSeveralScansTakesWhatWasTrainedForAScanAndElseTheScansOwnProbe) {
  const Scan scan = small_scan();
  const auto probe = [&](const char* hash, ProbeSource source = ProbeSource::automatic) {
    return model_for(with_hash(scan, hash), model_of_two(), source).probe;
  };
  EXPECT_TRUE(at::equal(probe("one"), 2 * scan.probe()));
  EXPECT_TRUE(at::equal(probe("two"), 3 * scan.probe()));
  EXPECT_TRUE(at::equal(probe("three"), scan.probe()));
  EXPECT_TRUE(at::equal(probe("three", ProbeSource::model), 2 * scan.probe()));
  EXPECT_TRUE(at::equal(probe("one", ProbeSource::scan), scan.probe()));
}

TEST(ModelFor, OfSeveralScansKeepsItsProbeForAScanThatHasNone) {
  ScanFields fields = with_hash(small_scan(), "three").fields();
  fields.probe_given = false;
  EXPECT_TRUE(at::equal(model_for(Scan(fields), model_of_two()).probe, 2 * small_scan().probe()));
}

TEST(InputChannels, AreThoseOfThePatternsWithoutTheBackgroundOfTheStem) {
  const Scan clean = small_scan();
  const at::Tensor background = at::arange(16, at::kFloat).view({16, 1}).expand({16, 16});
  ScanFields fields = clean.fields();
  fields.counts = fields.counts + background;
  fields.shared.reset();
  const Scan scan(std::move(fields));
  Model model = model_for(clean, shipped_model());
  const at::Tensor frames = at::arange(8, at::kLong);
  const at::Tensor without = input_channels(model, clean, frames);
  model.stem_background = background;
  EXPECT_LT((input_channels(model, scan, frames) - without).abs().max().item<double>(), 1e-3);
}

}  // namespace
}  // namespace ptyche
