#include "ptyche/train/ptychopinn_recipe.h"

#include <gtest/gtest.h>

#include "ptyche/group/fixed_groups.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/infer/infer.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/train/train_step.h"
#include "tests/support/refusal.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

std::vector<EpochRecord> with_validation(const std::vector<double>& losses) {
  std::vector<EpochRecord> history;
  for (const double loss : losses) history.push_back({.loss = loss, .validation_loss = loss});
  return history;
}

TEST(PtychoPinnRecipe, HalvesTheRateAfterTwoEpochsWithoutGainAndNeverBelowATenth) {
  EXPECT_EQ(plateau_factor(with_validation({5, 4, 3})), 1);
  EXPECT_EQ(plateau_factor(with_validation({5, 4, 4})), 1);
  EXPECT_EQ(plateau_factor(with_validation({5, 4, 4, 4})), 0.5);
  EXPECT_EQ(plateau_factor(with_validation({5, 4, 4, 3.99995, 3})), 0.5);
  EXPECT_EQ(plateau_factor(with_validation(std::vector<double>(50, 1.0))), 0.1);
  EXPECT_EQ(plateau_factor({{.loss = 1}, {.loss = 1}, {.loss = 1}}), 1);
}

TEST(PtychoPinnRecipe, StopsAfterThreeEpochsWithoutALowerLoss) {
  EXPECT_FALSE(stands_still(with_validation({5, 4, 4, 4})));
  EXPECT_TRUE(stands_still(with_validation({5, 4, 4, 4, 4})));
  EXPECT_FALSE(stands_still(with_validation({5, 4, 6, 6, 3.9})));
}

TEST(PtychoPinnRecipe, KeepsTheLastTwentiethOfTheGroupsForTheRate) {
  const TrainOptions options = with_ptychopinn_recipe({});
  const Groups groups = groups_of(at::arange(80, at::kLong).view({40, 2}), 1);
  const SplitGroups split = split_for_validation(groups, options);
  EXPECT_TRUE(at::equal(split.learned.fixed, groups.fixed.narrow(0, 0, 38)));
  EXPECT_TRUE(at::equal(split.validated.fixed, groups.fixed.narrow(0, 38, 2)));
}

TEST(PtychoPinnRecipe, GivesTheProbeItsScaleWhateverItsOwn) {
  const at::Tensor probe = small_scan().probe();
  const at::Tensor scaled = ptychopinn_probe(probe, 0.01, 4);
  EXPECT_NEAR(scaled.abs().mean().item<double>(), 1 / (0.01 * 4), 1e-3);
  EXPECT_TRUE(at::allclose(ptychopinn_probe(7 * probe, 0.01, 4), scaled));
}

/// Cut out of one object at whole pixels, patches merge to it and predict its patterns exactly, but
/// for the floor.
TEST(PtychoPinnRecipe, MergesTheMiddlesOfPatchesThatAgreeToThemselves) {
  const Scan scan = small_scan(4);
  const std::int64_t size = scan.pattern_size();
  const at::Tensor positions = scan.positions().round();
  const CanvasLayout layout =
      lay_out(positions, at::zeros({4}, at::kLong), 1, size, Interpolation::bilinear);
  at::manual_seed(1);
  const at::Tensor object = at::randn({1, layout.rows, layout.cols}, at::kComplexFloat);
  const at::Tensor patches = extract_patches(object, layout);
  const at::Tensor square = central_square(size, size / 2);
  const at::Tensor merged = merge_patches(patches, square, layout, {.floor = 0.001});
  const at::Tensor covered = add_patches(square.expand({4, size, size}).contiguous(), layout) > 0;
  EXPECT_LT((merged - object).abs().masked_select(covered).max().item<double>(), 0.005);
  EXPECT_EQ(merged.abs().masked_select(covered.logical_not()).max().item<double>(), 0);
}

class RecipeTraining : public testing::Test {
 protected:
  RecipeTraining() {
    options_.network.filters_scale = 1;
    options_.epochs = 2;
    options_.precision = Precision::float32;
  }
  /// The smallest pattern that the network takes is 64 pixels.
  const Scan scan_ = [] {
    ScanFields fields;
    const Scan small = small_scan(25);
    fields.counts = at::constant_pad_nd(small.counts(), {24, 24, 24, 24});
    fields.probe = at::constant_pad_nd(small.probe(), {24, 24, 24, 24});
    fields.positions = small.positions() + 24;
    fields.source = "padded scan";
    return Scan(std::move(fields));
  }();
  TrainOptions options_ = with_ptychopinn_recipe({});
};

TEST_F(RecipeTraining, SaysInItsModelHowItWasTrainedAndStitchesTheMiddles) {
  const Groups groups = groups_of(fixed_groups(scan_, {.gridsize = 1, .count = 25}), 1);
  const Model model = train(scan_, groups, options_);
  EXPECT_EQ(model.recipe, TrainRecipe::ptychopinn);
  ASSERT_EQ(model.history.size(), 2u);
  EXPECT_TRUE(model.history.back().validation_loss.has_value());
  EXPECT_EQ(model.history.back().learning_rate, 1e-3);
  const Patches patches = infer(model, scan_, {});
  EXPECT_EQ(patches.interpolation, Interpolation::bilinear);
  EXPECT_EQ(patches.weights.sum().item<double>(), 20 * 20);
}

at::Tensor terms_of(const Scan& scan, const at::Tensor& patches, const TrainOptions& options) {
  return real_space_terms(patches, scan, at::arange(patches.size(0), at::kLong), options);
}

TEST(RealSpaceTerms, AreTheWeightedMeansOverTheLitPixels) {
  const Scan scan = small_scan(4);
  const at::Tensor flat = at::full({4, 16, 16}, 0.5, at::kComplexFloat);
  TrainOptions options;
  EXPECT_FALSE(terms_of(scan, flat, options).defined());
  options.tv_weight = 2;
  EXPECT_EQ(terms_of(scan, flat, options).item<double>(), 0);
  const at::Tensor ramp =
      (at::arange(16, at::kFloat) * 0.1).expand({4, 16, 16}).to(at::kComplexFloat);
  EXPECT_NEAR(terms_of(scan, ramp, options).item<double>(), 4 * 2 * 0.1, 1e-3);
  options = {.realspace_mae = 3};
  const at::Tensor truth = extract_patches(scan.truth(), scan.positions().slice(0, 0, 4) - 8, 16);
  EXPECT_NEAR(terms_of(scan, truth + 0.25, options).item<double>(), 4 * 3 * 0.25, 1e-3);
}

TEST(BothLosses, AddUpInTheirRatio) {
  const Scan scan = small_scan(16);
  const Groups groups = make_groups(scan, {.size = 9, .merged = 4});
  const auto first_loss = [&](LossKind loss, double mae_share) {
    TrainOptions options;
    options.network.widths = {8, 16};
    options.probe_start = "guess";
    options.precision = Precision::float32;
    options.loss = loss;
    options.mae_share = mae_share;
    TrainingState state = start_training(scan, groups, options);
    const InputCache inputs(state.model, scan);
    return train_step(state, scan, inputs, draw_epoch(groups, 1, 0).front(), options).loss;
  };
  const double poisson = first_loss(LossKind::poisson, 0);
  const double absolute = first_loss(LossKind::amplitude_absolute, 0);
  EXPECT_NEAR(first_loss(LossKind::poisson, 0.5), poisson + 0.5 * absolute, 1e-4 * poisson);
}

TEST(RealSpaceTerms, AreNoneOfASupervisedNetwork) {
  TrainOptions options;
  options.network.name = "supervised";
  options.tv_weight = 1;
  const Scan scan = small_scan(16);
  EXPECT_EQ(message_of([&] {
              start_training(scan, groups_of(at::arange(16, at::kLong).view({16, 1}), 1), options);
            }),
            "--tv-weight, --realspace-mae-weight: the network supervised is trained on the true "
            "object alone");
}

TEST(RealSpaceTerms, NeedATruthToBeCloseTo) {
  ScanFields fields = small_scan(4).fields();
  fields.truth = at::Tensor();
  const Scan scan(std::move(fields));
  EXPECT_EQ(message_of([&] {
              terms_of(scan, at::ones({4, 16, 16}, at::kComplexFloat), {.realspace_mae = 1});
            }),
            "small scan: --realspace-mae-weight needs the true object, which this scan does not "
            "have");
}

TEST(PtychoPinnRecipe, RefusesANetworkThatIsNotPtychoPinns) {
  TrainOptions options = with_ptychopinn_recipe({});
  options.network.name = "unet";
  EXPECT_EQ(message_of([&] { require_recipe(options); }),
            "--preset ptychopinn: expected --network ptychopinn or supervised, found unet");
}

}  // namespace
}  // namespace ptyche
