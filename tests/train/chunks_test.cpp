#include "ptyche/train/chunks.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/train/train_step.h"
#include "tests/support/checks.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

/// A layer whose rows do not look at each other, on 11 patterns.
struct Layer {
  at::Tensor input = random_tensor({11, 5}, at::kDouble, 1);
  at::Tensor weight = random_tensor({5, 3}, at::kDouble, 2).requires_grad_();
  at::Tensor unused = at::zeros({2}).requires_grad_();

  at::Tensor rows(std::int64_t first, std::int64_t count) const {
    return input.narrow(0, first, count).mm(weight).sin();
  }
};

TEST(Chunks, GiveTheOutputsAndTheGradientOfTheWhole) {
  Layer layer;
  layer.rows(0, 11).square().sum().backward();
  const at::Tensor gradient = layer.weight.grad().clone();
  layer.weight.mutable_grad() = at::Tensor();
  Chunks chunks(11, 4,
                [&](std::int64_t first, std::int64_t count) { return layer.rows(first, count); });
  EXPECT_TRUE(at::allclose(chunks.whole(), layer.rows(0, 11)));
  chunks.whole().square().sum().backward();
  chunks.backward({layer.weight, layer.unused});
  EXPECT_LT(relative_difference(layer.weight.grad(), gradient), 1e-12);
  EXPECT_FALSE(layer.unused.grad().defined());
}

TEST(Chunks, AddTheirGradientToWhatTheWeightsHold) {
  Layer layer;
  const auto run = [&] {
    Chunks chunks(11, 4,
                  [&](std::int64_t first, std::int64_t count) { return layer.rows(first, count); });
    chunks.whole().sum().backward();
    chunks.backward({layer.weight});
  };
  run();
  const at::Tensor once = layer.weight.grad().clone();
  run();
  EXPECT_LT(relative_difference(layer.weight.grad(), 2 * once), 1e-12);
}

TEST(Chunks, KeepNoGraphWhereTheCallerWantsNoGradient) {
  const at::NoGradGuard no_grad;
  const Layer layer;
  const Chunks chunks(
      11, 4, [&](std::int64_t first, std::int64_t count) { return layer.rows(first, count); });
  EXPECT_FALSE(chunks.whole().requires_grad());
}

TEST(Chunks, ThrowWhatTheFunctionThrows) {
  EXPECT_THROW(Chunks(11, 4,
                      [](std::int64_t first, std::int64_t) -> at::Tensor {
                        require(first == 0, "chunk at {}", first);
                        return at::zeros({4});
                      }),
               InvalidInput);
}

/// The network's gradient after one batch on so many threads: weights that have moved by it.
std::vector<at::Tensor> weights_after_a_step(int threads) {
  const int before = at::get_num_threads();
  at::set_num_threads(threads);
  TrainOptions options;
  options.probe_start = "guess";
  options.network.widths = {8, 16};
  options.precision = Precision::float32;
  const Scan scan = small_scan();
  const Groups groups = make_groups(scan, {.size = 18, .merged = 9});
  TrainingState state = start_training(scan, groups, options);
  const InputCache inputs(state.model, scan);
  train_step(state, scan, inputs, draw_epoch(groups, 2, 0)[0], options);
  at::set_num_threads(before);
  return state.weights;
}

TEST(TrainStep, IsTheSameTwiceOnAsManyThreads) {
  const std::vector<at::Tensor> once = weights_after_a_step(3), again = weights_after_a_step(3);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_TRUE(at::equal(once[i], again[i]));
}

}  // namespace
}  // namespace ptyche
