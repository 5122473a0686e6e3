// Checkpoints of solvers with something in them that no run leaves.
#include <gtest/gtest.h>

#include <limits>

#include "ptyche/core/files.h"
#include "ptyche/solve/solve.h"
#include "ptyche/storage/hdf5.h"
#include "tests/support/plain_solver.h"
#include "tests/support/refusal.h"
#include "tests/support/rewritten.h"
#include "tests/support/small_scan.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

class DamagedCheckpoint : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    options_ = plain({{GetParam(), 6}}, PositionFreedom::jitter, true);
    options_.fixed_probe = false;
    watch_.stop = [](std::int64_t passes) { return passes == 4; };
    ASSERT_EQ(solve(scan_, {}, options_, watch_).end, ChainEnd::interrupted);
    watch_.stop = {};
    bytes_ = read_bytes(file_);
  }

  /// What is said of the checkpoint with this dataset in place of its own.
  std::string with(const std::string& name, const at::Tensor& values) {
    write_text(file_, bytes_);
    rewrite(file_, {{name, values}});
    return message_of([&] { solve(scan_, {}, options_, watch_); });
  }

  const TestFolder folder_;
  const std::filesystem::path file_ = folder_ / "checkpoint.h5";
  const Scan scan_ = small_scan();
  SolverOptions options_;
  SolverWatch watch_{.checkpoint = file_, .resume = true, .keep_checkpoint = true};
  std::string bytes_;
};

/// Of another shape, of another type, and with a number that is none.
std::vector<at::Tensor> wrong_ones(const at::Tensor& right) {
  at::Tensor nan = right.is_floating_point() || right.is_complex()
                       ? right * std::numeric_limits<double>::quiet_NaN()
                       : right - 1'000'000;
  const at::Tensor longer = at::cat({right, right}, 0);
  const at::Tensor other = right.is_complex()                   ? at::real(right).contiguous()
                           : right.scalar_type() == at::kDouble ? right.to(at::kFloat)
                                                                : right.to(at::kDouble);
  return {longer, other, nan.to(right.scalar_type())};
}

TEST_P(DamagedCheckpoint, IsRefusedByFileAndDatasetWhateverIsWrongWithAnyOfItsArrays) {
  const Hdf5File in = Hdf5File::open(file_);
  for (const std::string& path : in.datasets()) {
    for (const at::Tensor& wrong : wrong_ones(in.read(path).values)) {
      const std::string message = with(path, wrong);
      EXPECT_NE(message.find("checkpoint.h5: " + path.substr(0, 5)), std::string::npos)
          << path << ": " << message;
    }
  }
}

TEST_P(DamagedCheckpoint, WithCountersOfNoChainIsRefused) {
  const at::Tensor right = Hdf5File::open(file_).read("chain/counters").values;
  for (const auto& [index, value] : std::vector<std::pair<int, double>>{{0, -1},
                                                                        {0, 1},
                                                                        {0, 0.5},
                                                                        {1, -1},
                                                                        {1, 3},
                                                                        {1, 6},
                                                                        {1, 100},
                                                                        {2, -1},
                                                                        {2, 1e9},
                                                                        {4, 7},
                                                                        {5, -3}}) {
    at::Tensor counters = right.clone();
    counters[index] = value;
    EXPECT_NE(with("chain/counters", counters).find("chain/"), std::string::npos)
        << index << " " << value;
  }
}

INSTANTIATE_TEST_SUITE_P(EverySolver, DamagedCheckpoint,
                         testing::Values("ml", "lbfgs", "lsqml", "epie", "rpie", "dm", "raar"),
                         [](const auto& info) { return std::string(info.param); });

/// How often a checkpoint is read after 1 to 16 of its bytes were damaged.
int read_after_damage(std::uint64_t times) {
  const TestFolder folder;
  const Scan scan = small_scan();
  const SolverOptions options = plain({{"ml", 6}});
  SolverWatch watch{.stop = [](std::int64_t passes) { return passes == 4; },
                    .checkpoint = folder / "checkpoint.h5",
                    .resume = true};
  EXPECT_EQ(solve(scan, {}, options, watch).end, ChainEnd::interrupted);
  watch.stop = {};
  const std::string bytes = read_bytes(watch.checkpoint);
  int read = 0;
  for (std::uint64_t seed = 0; seed < times; ++seed) {
    write_text(watch.checkpoint, bytes);
    damage(watch.checkpoint, seed);
    read += message_of([&] { solve(scan, {}, options, watch); }).empty() ? 1 : 0;
  }
  return read;
}

TEST(SolverCheckpoint, IsFoundDamagedByItsSealAtAnyByte) { EXPECT_EQ(read_after_damage(100), 0); }

TEST(SolverCheckpointSlow, IsFoundDamagedByItsSealTwoThousandTimes) {
  EXPECT_EQ(read_after_damage(2000), 0);
}

}  // namespace
}  // namespace ptyche
