#include "ptyche/train/train.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/random.h"
#include "ptyche/group/fixed_groups.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/model/model.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/train/train_step.h"
#include "ptyche/train/training_state.h"
#include "tests/support/checks.h"
#include "tests/support/refusal.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

const GroupOptions kGroups{.size = 9, .merged = 4};

TrainOptions small_options() {
  TrainOptions options;
  options.epochs = 3;
  options.probe_start_epochs = 2;
  options.network.widths = {8, 16};
  options.warm_up_steps = 4;
  options.precision = Precision::float32;
  return options;
}

class Train : public testing::Test {
 protected:
  Train() { std::filesystem::create_directories(folder_); }
  ~Train() override { std::filesystem::remove_all(folder_); }

  std::string file_of(const Model& model) const {
    write_model(folder_ / "m.ptyche", model);
    return read_bytes(folder_ / "m.ptyche");
  }

  const Scan scan_ = small_scan();
  const Groups groups_ = make_groups(scan_, kGroups);
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("ptyche train " + std::to_string(getpid()));
};

TEST_F(Train, LowersTheLoss) {
  TrainOptions options = small_options();
  options.epochs = 12;
  options.probe_start_epochs = 10;
  const Model model = train(scan_, groups_, options);
  EXPECT_EQ(model.history.size(), 12u);
  EXPECT_LT(model.history.back().loss, 0.5 * model.history.front().loss);
}

TEST_F(Train, GivesTheSameFileBitForBitForTheSameSeed) {
  const TrainOptions options = small_options();
  EXPECT_EQ(file_of(train(scan_, groups_, options)), file_of(train(scan_, groups_, options)));
}

TEST_F(Train, GivesAnotherModelForAnotherSeed) {
  TrainOptions other = small_options();
  other.seed = 2;
  EXPECT_NE(file_of(train(scan_, groups_, small_options())), file_of(train(scan_, groups_, other)));
}

TEST_F(Train, ResumedInTheMiddleOfAnEpochEndsWhereTheUninterruptedRunEnds) {
  TrainOptions options = small_options();
  const std::string whole = file_of(train(scan_, groups_, options));
  TrainingState state = start_training(scan_, groups_, options);
  {
    const InputCache inputs(state.model, scan_);
    const auto batches = draw_epoch(groups_, options.groups_per_batch, 0);
    for (std::size_t i = 0; i < 3; ++i) train_step(state, scan_, inputs, batches[i], options);
  }
  options.checkpoint = folder_ / "checkpoint.ptyche";
  options.resume = true;
  write_checkpoint(options.checkpoint, state, training_key(scan_, groups_, options), 90);
  const Model resumed = train(scan_, groups_, options);
  EXPECT_EQ(file_of(resumed), whole);
  EXPECT_EQ(resumed.seconds_before, 90);
  EXPECT_FALSE(std::filesystem::exists(options.checkpoint));
}

TEST_F(Train, RefusesTheCheckpointOfAnotherRunNamingTheOptionsThatDiffer) {
  TrainOptions options = small_options();
  options.checkpoint = folder_ / "checkpoint.ptyche";
  options.resume = true;
  write_checkpoint(options.checkpoint, start_training(scan_, groups_, options),
                   training_key(scan_, groups_, options));
  options.learning_rate = 0.003;
  options.engine = Engine::reference;
  const std::string message = message_of([&] { train(scan_, groups_, options); });
  EXPECT_NE(
      message.find("learning-rate is 0.003 and was 0.0015; engine is reference and was fused"),
      std::string::npos)
      << message;
}

TEST_F(Train, LowersTheLossOnFixedGroups) {
  TrainOptions options = small_options();
  options.epochs = 12;
  options.groups_per_batch = 2;
  const at::Tensor fixed = fixed_groups(scan_, {.gridsize = 2, .count = 35});
  const Model model = train(scan_, groups_of(fixed, 1), options);
  EXPECT_LT(model.history.back().loss, 0.7 * model.history.front().loss);
}

TEST_F(Train, TellsTheCheckpointsOfDifferentFixedGroupsApart) {
  const auto key = [&](std::int64_t count, std::uint64_t draw, std::uint64_t order) {
    const at::Tensor fixed = fixed_groups(scan_, {.gridsize = 2, .count = count, .seed = draw});
    return training_key(scan_, groups_of(fixed, order), small_options());
  };
  EXPECT_EQ(key(20, 1, 1), key(20, 1, 1));
  for (const Key& other : {key(21, 1, 1), key(20, 2, 1), key(20, 1, 2)})
    EXPECT_NE(key(20, 1, 1), other);
}

TEST_F(Train, KeepsAFixedProbeAndAddsNoBackgroundUnlessAsked) {
  TrainOptions options = small_options();
  options.fixed_probe = true;
  options.background = false;
  const Model model = train(scan_, groups_, options);
  EXPECT_TRUE(at::equal(model.probe, model.stem_probe));
  EXPECT_FALSE(model.background.defined());
}

TEST_F(Train, MovesPositionsTowardsTheTrueOnes) {
  RandomStream stream(5, Purpose::position_errors);
  at::Tensor errors = at::empty_like(scan_.positions());
  for (std::int64_t i = 0; i < errors.numel(); ++i)
    errors.data_ptr<double>()[i] = 0.4 * stream.normal();
  const Scan scan = scan_.with_positions(scan_.positions() + errors);
  TrainOptions options = small_options();
  options.epochs = 30;
  options.positions = PositionFreedom::jitter;
  const Model model = train(scan, make_groups(scan, kGroups), options);
  const auto spread = [](const at::Tensor& error) {
    return (error - error.mean(0)).norm().item<double>();
  };
  EXPECT_LT(spread(placed_by(model, scan).positions() - scan_.positions()), 0.75 * spread(errors));
}

TEST_F(Train, KeepsTheModesThatTheScanHas) {
  const Scan two = scan_.with_probe(at::cat({scan_.probe(), 0.3 * scan_.probe().flip(1)}));
  EXPECT_EQ(train(two, groups_, small_options()).probe.size(0), 2);
}

TEST_F(Train, RefusesANearFieldScan) {
  ScanFields fields = scan_.fields();
  fields.geometry.near_field = true;
  fields.source = "shadows.cxi";
  try {
    train(Scan(fields), groups_, small_options());
    FAIL() << "expected a refusal";
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find("shadows.cxi"), std::string::npos);
  }
}

TEST_F(Train, TrainsAsManyProbeModesAsAreAskedFor) {
  TrainOptions options = small_options();
  options.probe_modes = 3;
  const Model model = train(scan_, groups_, options);
  EXPECT_EQ(model.probe.size(0), 3);
  EXPECT_FALSE(at::equal(model.probe, model.stem_probe));
}

TEST_F(Train, FindsABackgroundThatWasPlanted) {
  const double planted = 6;
  ScanFields fields = scan_.fields();
  fields.counts = scan_.counts() + planted;
  const Scan scan(fields);
  TrainOptions options = small_options();
  options.epochs = 60;
  options.probe_start = "guess";
  options.fixed_probe = true;
  options.background_rate = 0.05;
  const Model model = train(scan, make_groups(scan, kGroups), options);
  EXPECT_NEAR(model.background.median().item<double>(), planted, 0.2 * planted);
}

TEST_F(Train, ComesBackFromAFlatObjectToTheStemsContrast) {
  const TrainOptions options = small_options();
  TrainingState state = start_training(scan_, groups_, options);
  const auto contrast = [&] {
    const InputCache inputs(state.model, scan_);
    return train_step(state, scan_, inputs, draw_epoch(groups_, 2, 0)[0], options).object_contrast;
  };
  const double at_start = contrast();
  {
    const at::NoGradGuard no_grad;
    for (at::Tensor& weight : state.weights) weight.zero_();
  }
  const double flat = contrast();
  state.model.history = {{.epoch = 1, .object_contrast = at_start},
                         {.epoch = 2, .object_contrast = flat}};
  ASSERT_TRUE(collapsed(state.model));
  restart_from_stem(state, options);
  EXPECT_NEAR(contrast(), at_start, 1e-3 * at_start);
  EXPECT_EQ(state.rate, 0.5);
}

TEST_F(Train, RefusesOptionsOutOfRange) {
  TrainOptions options = small_options();
  options.epochs = 0;
  EXPECT_THROW(train(scan_, groups_, options), InvalidInput);
  options = small_options();
  options.learning_rate = -1;
  EXPECT_THROW(train(scan_, groups_, options), InvalidInput);
}

TEST(ModelFile, HoldsAllThatInferenceNeeds) {
  const Scan scan = small_scan();
  const Groups groups = make_groups(scan, kGroups);
  const Model model = train(scan, groups, small_options());
  const auto file =
      std::filesystem::temp_directory_path() / ("model " + std::to_string(getpid()) + ".ptyche");
  write_model(file, model);
  const Model copy = read_model(file);
  std::filesystem::remove(file);
  const at::Tensor frames = at::arange(5, at::kLong);
  EXPECT_TRUE(at::equal(input_channels(copy, scan, frames), input_channels(model, scan, frames)));
  EXPECT_TRUE(at::equal(copy.probe, model.probe));
  EXPECT_TRUE(at::equal(copy.background, model.background));
  EXPECT_EQ(copy.history.size(), model.history.size());
}

TEST(ModelFile, PlacesOnlyItsOwnScan) {
  const Scan scan = small_scan();
  Model model;
  EXPECT_TRUE(at::equal(placed_by(model, scan).positions(), scan.positions()));
  model.position_corrections = at::full_like(scan.positions(), 0.5);
  EXPECT_TRUE(at::equal(placed_by(model, scan).positions(), scan.positions()));
  model.input_hash = scan.input_hash();
  EXPECT_TRUE(at::equal(placed_by(model, scan).positions(), scan.positions() + 0.5));
}

TEST(LearningRate, RisesThenFallsToNothing) {
  TrainOptions options;
  options.warm_up_steps = 10;
  EXPECT_LT(learning_rate_factor(0, 100, options), 0.11);
  EXPECT_GT(learning_rate_factor(10, 100, options), 0.9);
  EXPECT_LT(learning_rate_factor(99, 100, options), 0.001);
}

TEST(Adam, TakesTheStepOfThePaper) {
  at::Tensor x = at::tensor({1.0f}).requires_grad_();
  AdamState state = new_adam_state({x});
  x.mutable_grad() = at::tensor({0.5f});
  adam_step({x}, state, 0.1);
  EXPECT_NEAR(x.item<double>(), 1 - 0.1, 1e-6);  // first step: learning rate times the sign
  EXPECT_FALSE(x.grad().defined());
}

TEST(ClipGradients, ScalesTheJointNormToTheLimitAndNoFurther) {
  at::Tensor a = at::zeros({1}).requires_grad_(), b = at::zeros({1}).requires_grad_();
  a.mutable_grad() = at::tensor({3.0f});
  b.mutable_grad() = at::tensor({4.0f});
  EXPECT_NEAR(clip_gradients({a, b}, 1), 5, 1e-6);
  EXPECT_NEAR(a.grad().item<double>(), 0.6, 1e-6);
  EXPECT_NEAR(clip_gradients({a, b}, 2), 1, 1e-6);
  EXPECT_NEAR(b.grad().item<double>(), 0.8, 1e-6);
}

/// What training prints until it ends or throws.
std::string said_by_training(const Scan& scan, const TrainOptions& options) {
  testing::internal::CaptureStderr();
  try {
    train(scan, make_groups(scan, kGroups), options);
  } catch (const InvalidInput&) {
  }
  return testing::internal::GetCapturedStderr();
}

TEST_F(Train, RefusesASizeThatTheNetworkDoesNotKnowBeforeTheFirstProbeIsSolved) {
  TrainOptions options = small_options();
  options.network = {.name = "ptychopinn"};
  EXPECT_THROW(train(scan_, groups_, options), InvalidInput);
  EXPECT_EQ(said_by_training(scan_, options).find("rpie"), std::string::npos);
}

TEST_F(Train, SaysSoWhereThereIsNoCheckpointToResume) {
  TrainOptions options = small_options();
  options.epochs = 1;
  options.checkpoint = folder_ / "none.ptyche";
  options.resume = true;
  const std::string said = said_by_training(scan_, options);
  EXPECT_NE(said.find("none.ptyche; the training starts from the beginning"), std::string::npos)
      << said;
}

/// Two scans of other numbers of patterns; the second has four times the light.
std::vector<TrainingScan> two_scans() {
  std::vector<TrainingScan> scans;
  for (const std::int64_t frames : {36, 49}) {
    ScanFields fields = small_scan(frames).fields();
    if (frames == 49) {
      fields.counts = fields.counts * 4;
      fields.probe = fields.probe * 2;
      fields.input_hash = "other";
    }
    const Scan scan(std::move(fields));
    scans.push_back({.scan = scan, .groups = make_groups(scan, kGroups)});
  }
  return scans;
}

TEST_F(Train, OfSeveralScansKeepsAProbeAndAnInputConstantForEach) {
  TrainOptions options = small_options();
  options.groups_per_batch = 3;
  const Model model = train(two_scans(), options);
  ASSERT_EQ(model.more.size(), 1u);
  EXPECT_EQ(model.more[0].input_hash, "other");
  EXPECT_NEAR(model.more[0].photons / model.photons, 4, 1e-3);
  EXPECT_NEAR(model.more[0].input_scale / model.input_scale, 0.5, 0.01);
  EXPECT_TRUE(model.more[0].background.defined());
  const double change = relative_difference(model.more[0].probe, model.more[0].stem_probe);
  EXPECT_GT(change, 1e-6);
  EXPECT_LT(change, 0.2);
}

TEST_F(Train, OfSeveralScansComesBackFromAFileAsItWas) {
  const Model model = train(two_scans(), small_options());
  const std::string bytes = file_of(model);
  EXPECT_EQ(file_of(read_model(folder_ / "m.ptyche")), bytes);
}

TEST_F(Train, OfSeveralScansResumedEndsWhereTheUninterruptedRunEnds) {
  TrainOptions options = small_options();
  options.positions = PositionFreedom::affine;
  options.epochs = 4;
  const std::vector<TrainingScan> scans = two_scans();
  const std::string whole = file_of(train(scans, options));
  TrainingState state = start_training(scans, options);
  {
    const InputCache first(state.of(0).model, scans[0].scan),
        second(state.of(1).model, scans[1].scan);
    const auto batches = batches_of(scans, options, 0);
    for (std::size_t i = 0; i < 4; ++i) {
      std::vector<StepPart> parts;
      for (const ScanBatch& own : batches[i])
        parts.push_back(
            {state.of(own.scan), scans[own.scan].scan, own.scan == 0 ? first : second, own.batch});
      train_step(state, parts, options);
    }
  }
  options.checkpoint = folder_ / "checkpoint.ptyche";
  options.resume = true;
  write_checkpoint(options.checkpoint, state, training_key(scans, options));
  EXPECT_EQ(file_of(train(scans, options)), whole);
}

TEST_F(Train, RefusesTheCheckpointOfOtherWeights) {
  TrainOptions options = small_options();
  std::vector<TrainingScan> scans = two_scans();
  options.checkpoint = folder_ / "checkpoint.ptyche";
  options.resume = true;
  write_checkpoint(options.checkpoint, start_training(scans, options),
                   training_key(scans, options));
  scans[1].weight = 2;
  const std::string message = message_of([&] { train(scans, options); });
  EXPECT_NE(message.find("weight of scan 2 is 2 and was 1"), std::string::npos) << message;
}

TEST_F(Train, GoesOnWithTheWeightsOfAModelThatItStartsFrom) {
  TrainOptions options = small_options();
  write_model(folder_ / "start.ptyche", train(scan_, groups_, options));
  const Model before = read_model(folder_ / "start.ptyche");
  options.start = folder_ / "start.ptyche";
  const TrainingState state = start_training(two_scans(), options);
  const auto weights = before.network->parameters();
  for (std::size_t i = 0; i < weights.size(); ++i)
    EXPECT_TRUE(at::equal(state.weights[i], weights[i]));
  options.network = {.name = "ptychopinn"};
  const std::string message = message_of([&] { start_training(two_scans(), options); });
  EXPECT_NE(message.find("expected a model of the network ptychopinn, found one of unet"),
            std::string::npos)
      << message;
}

TEST_F(Train, RefusesNoScanAndWeightsThatAreNotAboveZero) {
  EXPECT_NE(message_of([] {
              train(std::vector<TrainingScan>(), small_options());
            }).find("at least one scan"),
            std::string::npos);
  std::vector<TrainingScan> scans = two_scans();
  for (const double weight : {0.0, -1.0, std::nan("")}) {
    scans[1].weight = weight;
    EXPECT_NE(message_of([&] { train(scans, small_options()); }).find("weight above 0"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace ptyche
