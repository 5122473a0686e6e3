#include "ptyche/core/parallel.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "ptyche/core/messages.h"

namespace ptyche {
namespace {

TEST(SideBySide, RunsEveryJobOnceWithOneThreadOfItsOwn) {
  std::array<std::atomic<int>, 20> runs{};
  std::atomic<int> most = 0;
  const int before = at::get_num_threads();
  side_by_side(20, [&](std::int64_t job) {
    ++runs.at(static_cast<std::size_t>(job));
    most = std::max(most.load(), at::get_num_threads());
  });
  for (const auto& each : runs) EXPECT_EQ(each, 1);
  EXPECT_EQ(most, 1);
  EXPECT_EQ(at::get_num_threads(), before);
}

TEST(SideBySide, ThrowsTheFirstExceptionByNumberAfterAllJobsWereRun) {
  std::atomic<int> runs = 0;
  const auto work = [&](std::int64_t job) {
    ++runs;
    if (job == 3 || job == 7) throw std::runtime_error(std::to_string(job));
  };
  try {
    side_by_side(10, work);
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "3");
  }
  EXPECT_EQ(runs, 10);
}

TEST(SideBySide, SaysNothingWhereTheCallerSaysNothing) {
  const auto silent_jobs = [] {
    std::atomic<int> count = 0;
    side_by_side(4, [&](std::int64_t) { count += silent() ? 1 : 0; });
    return count.load();
  };
  EXPECT_EQ(silent_jobs(), 0);
  const Silence silence;
  EXPECT_EQ(silent_jobs(), 4);
}

/// With a number of threads, whatever the machine has.
class SideBySideInOrder : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { at::set_num_threads(GetParam()); }
  void TearDown() override { at::set_num_threads(before_); }

 private:
  int before_ = at::get_num_threads();
};

TEST_P(SideBySideInOrder, GivesWhatWasMadeByNumberAndOneAtATime) {
  std::vector<std::int64_t> taken;
  std::atomic<int> taking = 0;
  const auto make = [](std::int64_t job) {
    // Later jobs are done sooner.
    std::this_thread::sleep_for(std::chrono::milliseconds(job % 4 == 0 ? 8 : 1));
    return at::full({}, job, at::kLong);
  };
  side_by_side_in_order(16, make, [&](const at::Tensor& made) {
    EXPECT_EQ(++taking, 1);
    taken.push_back(made.item<std::int64_t>());
    --taking;
  });
  std::vector<std::int64_t> all(16);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(taken, all);
  EXPECT_EQ(at::get_num_threads(), GetParam());
}

TEST_P(SideBySideInOrder, EndsWithAnExceptionOfEitherAndTakesNothingAfterIt) {
  for (const bool while_made : {true, false}) {
    std::int64_t taken = 0;
    std::atomic<int> made = 0;
    const auto make = [&](std::int64_t job) {
      ++made;
      if (while_made && job == 3) throw std::runtime_error("made");
      return at::full({}, job, at::kLong);
    };
    const auto take = [&](const at::Tensor& each) {
      if (!while_made && each.item<std::int64_t>() == 3) throw std::runtime_error("taken");
      ++taken;
    };
    EXPECT_THROW(side_by_side_in_order(1000, make, take), std::runtime_error);
    EXPECT_LE(taken, 3);
    EXPECT_LE(made, 4 + 2 * GetParam());  // what was under way
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, SideBySideInOrder, testing::Values(1, 2, 5));

}  // namespace
}  // namespace ptyche
