// Checkpoints of training with something in them that no training leaves.
#include <gtest/gtest.h>

#include <cctype>
#include <limits>

#include "ptyche/core/files.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/storage/hdf5.h"
#include "ptyche/train/train.h"
#include "ptyche/train/training_state.h"
#include "tests/support/refusal.h"
#include "tests/support/rewritten.h"
#include "tests/support/small_scan.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

class DamagedTraining : public testing::Test {
 protected:
  void SetUp() override {
    options_.epochs = 2;
    options_.network.widths = {8, 16};
    options_.probe_start = "guess";
    options_.precision = Precision::float32;
    options_.checkpoint = folder_ / "checkpoint.ptyche";
    options_.resume = true;
    write_checkpoint(options_.checkpoint, start_training(scan_, groups_, options_),
                     training_key(scan_, groups_, options_));
    bytes_ = read_bytes(options_.checkpoint);
  }

  std::string with(const std::string& name, const at::Tensor& values) {
    write_text(options_.checkpoint, bytes_);
    rewrite(options_.checkpoint, {{name, values}});
    return message_of([&] { train(scan_, groups_, options_); });
  }

  /// How often the checkpoint is read after 1 to 16 of its bytes were damaged.
  int read_after_damage(std::uint64_t times) const {
    int read = 0;
    for (std::uint64_t seed = 0; seed < times; ++seed) {
      write_text(options_.checkpoint, bytes_);
      damage(options_.checkpoint, seed);
      read += message_of([&] { train(scan_, groups_, options_); }).empty() ? 1 : 0;
    }
    return read;
  }

  const TestFolder folder_;
  const Scan scan_ = small_scan();
  const Groups groups_ = make_groups(scan_, {.size = 8, .merged = 4});
  TrainOptions options_;
  std::string bytes_;
};

TEST_F(DamagedTraining, IsRefusedByFileAndDatasetWhateverIsWrongWithAnyOfItsArrays) {
  const Hdf5File in = Hdf5File::open(options_.checkpoint);
  for (const std::string& path : in.datasets()) {
    const bool another_of_its_list = std::isdigit(path.back()) != 0 && !path.ends_with("0000");
    if (another_of_its_list || path.find("/weights/") != std::string::npos) continue;
    const at::Tensor right = in.read(path).values;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const at::Tensor other = right.scalar_type() == at::kDouble ? at::real(right).to(at::kFloat)
                                                                : at::real(right).to(at::kDouble);
    for (const at::Tensor& wrong :
         {right.unsqueeze(0).contiguous(), other, (right * nan).to(right.scalar_type())}) {
      const std::string message = with(path, wrong);
      EXPECT_NE(message.find("checkpoint.ptyche: " + path.substr(0, 5)), std::string::npos)
          << path << ": " << message;
    }
  }
}

TEST_F(DamagedTraining, WithCountersOfNoTrainingOrMovesBeyondAPatternIsRefused) {
  const at::Tensor right = Hdf5File::open(options_.checkpoint).read("training/counters").values;
  for (const auto& [index, value] : std::vector<std::pair<int, double>>{{0, -1},
                                                                        {0, 3},
                                                                        {1, -1},
                                                                        {1, 1e6},
                                                                        {2, -1},
                                                                        {2, 1e6},
                                                                        {3, 0},
                                                                        {3, -1},
                                                                        {7, 0},
                                                                        {7, 2}}) {
    at::Tensor counters = right.clone();
    counters[index] = value;
    EXPECT_NE(with("training/counters", counters).find("training/counters"), std::string::npos)
        << index << " " << value;
  }
  EXPECT_NE(with("training/moves", at::full({36, 2}, 1e4, at::kDouble))
                .find("training/moves: expected numbers from -16 to 16"),
            std::string::npos);
}

TEST_F(DamagedTraining, IsFoundByItsSealAtAnyByte) { EXPECT_EQ(read_after_damage(100), 0); }

using DamagedTrainingSlow = DamagedTraining;

TEST_F(DamagedTrainingSlow, IsFoundByItsSealTwoThousandTimes) {
  EXPECT_EQ(read_after_damage(2000), 0);
}

TEST_F(DamagedTraining, GoesOnWhereItsCheckpointCannotBeWritten) {
  options_.checkpoint = "/nonexistent folder/checkpoint.ptyche";
  options_.resume = false;
  options_.keep_checkpoint = true;
  testing::internal::CaptureStderr();
  EXPECT_EQ(train(scan_, groups_, options_).history.size(), 2u);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("the checkpoint could not be written"),
            std::string::npos);
}

}  // namespace
}  // namespace ptyche
