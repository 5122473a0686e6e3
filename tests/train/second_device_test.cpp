// Training on a device that is not the CPU: network, physics, optimiser.
#include "tests/support/second_device.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "ptyche/group/make_groups.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/train/train.h"
#include "ptyche/train/train_step.h"
#include "ptyche/train/training_state.h"
#include "ptyche/train/universe_training.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

const GroupOptions kDeviceGroups{.size = 9, .merged = 4};

TrainOptions options_on(at::Device device) {
  TrainOptions options;
  options.epochs = 2;
  options.probe_start_epochs = 2;
  options.network.widths = {8, 16};
  options.warm_up_steps = 2;
  options.probe_warm_up = 0.1;
  options.positions = PositionFreedom::jitter;
  options.tv_weight = 0.01;
  options.precision = Precision::float32;
  options.engine = Engine::reference;
  options.device = device;
  return options;
}

double off_by(const at::Tensor& found, const at::Tensor& expected) {
  return ((found - expected).norm() / expected.norm()).item<double>();
}

TEST(SecondDeviceTraining, AStepMovesNetworkAndProbeAsTheCpuDoes) {
  const Scan scan = small_scan();
  const Groups groups = make_groups(scan, kDeviceGroups);
  const GroupBatch batch = draw_epoch(groups, 2, 0).front();
  const auto stepped = [&](at::Device device) {
    const TrainOptions options = options_on(device);
    const Scan there = scan.to(device);
    TrainingState state = start_training(scan, groups, options);
    state.step = state.total_steps / 2;
    move_to(state, device);
    const InputCache inputs(state.model, there, options.engine);
    const double loss = train_step(state, there, inputs, batch, options).loss;
    move_to(state, at::kCPU);
    return std::pair(loss, state);
  };
  const auto [expected, here] = stepped(at::kCPU);
  const auto [loss, found] = stepped(second_device());
  EXPECT_NEAR(loss, expected, allowed(1e-6) * expected);
  for (std::size_t i = 0; i < here.weights.size(); ++i) {
    const at::Tensor &there = found.network_adam.mean[i],
                     &expected_mean = here.network_adam.mean[i];
    EXPECT_LE((there - expected_mean).norm().item<double>(),
              allowed(1e-5) * expected_mean.norm().item<double>())
        << i;
  }
  EXPECT_LT(off_by(found.probe_parts.detach(), here.probe_parts.detach()), allowed(1e-6));
  EXPECT_LT(off_by(found.background_root.detach(), here.background_root.detach()), allowed(1e-6));
  EXPECT_LT(off_by(found.position_gradient, here.position_gradient), allowed(1e-5));
}

/// Gains of scan 3 of a small universe, and the gradients of the first weights.
std::array<at::Tensor, 3> gains_on(at::Device device) {
  const Universe universe =
      parse_universe("pattern_size = 32\npatterns = 9\nphotons = [3e3, 1e5]\n", "small");
  TrainOptions options = options_on(device);
  options.network.stride = 2;
  Model model = new_model_of(universe, options);
  const ShownScan shown = to_device(show(model, universe, 1, 3), device);
  model = on_device(model, device);
  const at::Tensor weight = model.network->parameters().front();
  weight.requires_grad_(true);
  const at::Tensor frames = at::arange(9, at::kLong);
  const at::Tensor patches = patches_of(model, shown.drawn.scan, frames, shown.channels);
  const GainOverStem gain = gain_over_stem(1.1 * patches, shown, Engine::reference);
  (gain.image + gain.fit).backward();
  return {gain.image.detach().cpu(), gain.fit.detach().cpu(), weight.grad().cpu()};
}

TEST(SecondDeviceTraining, AScanOfAUniverseIsJudgedAsByTheCpu) {
  const auto here = gains_on(at::kCPU), there = gains_on(second_device());
  for (std::size_t i = 0; i < here.size(); ++i)
    EXPECT_LT(off_by(there[i], here[i]), allowed(1e-5)) << i;
}

TEST(SecondDeviceTraining, AWholeTrainingFollowsThatOfTheCpu) {
  const Scan scan = small_scan();
  const Groups groups = make_groups(scan, kDeviceGroups);
  const Model here = train(scan, groups, options_on(at::kCPU));
  const Model found = train(scan, groups, options_on(second_device()));
  EXPECT_TRUE(found.probe.is_cpu());
  EXPECT_TRUE(found.network->parameters().front().is_cpu());
  EXPECT_NEAR(found.history.back().loss, here.history.back().loss,
              allowed(1e-6) * here.history.back().loss);
  EXPECT_LT(off_by(found.probe, here.probe), allowed(1e-6));
}

TEST(SecondDeviceTraining, TheCountsGoThereOnce) {
  if (!counts_transfers()) GTEST_SKIP() << "transfers to a GPU are not counted";
  const Scan scan = small_scan();
  const Groups groups = make_groups(scan, kDeviceGroups);
  TrainOptions options = options_on(second_device());
  const auto there_in = [&](std::int64_t epochs) {
    options.epochs = epochs;
    const TransferCounts before = transfers();
    train(scan, groups, options);
    return transfers().there - before.there;
  };
  // What a step sends are numbers of patterns and where they lie, nothing of their size.
  const auto steps = static_cast<std::int64_t>(draw_epoch(groups, 1, 0).size());
  EXPECT_LE(there_in(3) - there_in(2), 12 * steps + 8);
}

TEST(SecondDeviceTraining, GoesOnFromItsCheckpoint) {
  const Scan scan = small_scan();
  const Groups groups = make_groups(scan, kDeviceGroups);
  TrainOptions options = options_on(second_device());
  options.checkpoint =
      std::filesystem::temp_directory_path() / ("ptyche device " + std::to_string(getpid()));
  options.keep_checkpoint = true;
  const Model whole = train(scan, groups, options);
  options.resume = true;
  const Model again = train(scan, groups, options);
  std::filesystem::remove(options.checkpoint);
  EXPECT_LT(off_by(again.probe, whole.probe), allowed(1e-6));
}

}  // namespace
}  // namespace ptyche
