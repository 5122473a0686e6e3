#include "ptyche/core/parallel.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stdexcept>

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

}  // namespace
}  // namespace ptyche
