// What the loss does with batches: groups apart, any type of counts, refusals, memory.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "ptyche/core/error.h"
#include "tests/support/checks.h"
#include "tests/support/loss_cases.h"

namespace ptyche {
namespace {

/// The first `patterns` patterns of a batch and their groups.
LossBatch first_groups(const LossBatch& batch, std::int64_t patterns) {
  LossBatch few = batch;
  for (at::Tensor* listed :
       {&few.transmission, &few.merged, &few.positions, &few.group, &few.counts})
    *listed = listed->slice(0, 0, patterns);
  return few;
}

/// A group of a batch is the same whatever else is in the batch.
class PlantedGroups : public testing::TestWithParam<std::int64_t> {};

TEST_P(PlantedGroups, DoNotSeeEachOtherAtAnyBatchSize) {
  const std::int64_t of = GetParam();
  LossCase c{.size = 8, .group_sizes = {}, .real = at::kFloat, .background = false};
  c.group_sizes.assign(130, of);
  LossBatch all = make_batch(c);
  all.transmission.slice(0, of).mul_(5);  // what all other groups see
  c.group_sizes = {of};
  const at::Tensor alone = loss_and_gradients(c, first_groups(all, of), Engine::fused)[2];
  for (std::int64_t batch = 1; batch <= 130; ++batch) {
    c.group_sizes.assign(static_cast<std::size_t>(batch), of);
    const auto found = loss_and_gradients(c, first_groups(all, batch * of), Engine::fused);
    EXPECT_LT(relative_difference(found[2].slice(0, 0, of), alone), 1e-5) << "batch of " << batch;
  }
}

INSTANTIATE_TEST_SUITE_P(OfSize, PlantedGroups, testing::Values(1, 4, 9));

TEST(GroupLoss, TakesCountsOfAnyTypeInThePrecisionOfThePatches) {
  const LossCase c{.group_sizes = {3}, .real = at::kFloat};
  LossBatch batch = make_batch(c);
  const at::Tensor expected = loss_and_gradients(c, batch, Engine::fused)[2];
  batch.counts = batch.counts.to(at::kDouble);
  batch.background = batch.background.to(at::kDouble);
  EXPECT_TRUE(at::equal(loss_and_gradients(c, batch, Engine::fused)[2], expected));
  batch.counts = batch.counts.to(at::kShort);
  EXPECT_TRUE(at::equal(loss_and_gradients(c, batch, Engine::fused)[2], expected));
}

TEST(GroupLoss, NamesTheShapesThatDoNotMatch) {
  const LossCase c{.group_sizes = {3}};
  for (const Engine engine : {Engine::fused, Engine::reference}) {
    LossBatch batch = make_batch(c);
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
  const LossCase c{.size = 1042, .group_sizes = {1}, .real = at::kFloat};  // 2 x 521
  const LossBatch batch = make_batch(c);
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
  const LossCase c{.size = 64, .group_sizes = {512}, .real = at::kFloat, .background = false};
  const LossBatch batch = make_batch(c);
  const CanvasLayout layout = lay_out(batch.positions, batch.group, 1, 64, c.interpolation);
  const at::Tensor patches = batch.transmission.clone().requires_grad_(true);
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
