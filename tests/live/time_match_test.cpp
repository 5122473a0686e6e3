// Positions by the time of a frame.
#include "ptyche/live/time_match.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ptyche/core/random.h"

namespace ptyche {
namespace {

constexpr double kBegin = 1.8e9;  // times since 1970 have few digits behind the point

/// Where the axes are at a time: on lines, so that samples at any times say it exactly.
double x_at(double time) { return 3 * (time - kBegin); }
double y_at(double time) { return 1 - 2 * (time - kBegin); }

void append(std::vector<TimedPosition>& all, const std::vector<TimedPosition>& some) {
  all.insert(all.end(), some.begin(), some.end());
}

/// 40 frames every second and samples of the axes every 0.7 s and 0.4 s, their three streams mixed
/// at random: each keeps its own order.
std::vector<TimedPosition> mixed(std::uint64_t seed, bool frames_in_order) {
  TimeMatch match(Between::linear, 1);
  std::vector<TimedPosition> found;
  RandomStream stream(seed, Purpose::live_replay);
  const std::vector<std::int64_t> order =
      permutation(40, RandomStream(seed + 1, Purpose::live_replay));
  std::size_t frame = 0, x = 0, y = 0;
  while (frame < 40 || x < 60 || y < 105) {
    const double which = stream.uniform();
    if (which < 0.4 && frame < 40) {
      const auto index = frames_in_order ? static_cast<std::int64_t>(frame) : order[frame];
      match.add_frame(index, kBegin + static_cast<double>(index));
      ++frame;
    } else if (which < 0.7 && x < 60) {
      const double time = kBegin - 0.2 + 0.7 * static_cast<double>(x++);
      EXPECT_TRUE(match.add_sample(0, time, x_at(time)));
    } else if (y < 105) {
      const double time = kBegin - 0.3 + 0.4 * static_cast<double>(y++);
      EXPECT_TRUE(match.add_sample(1, time, y_at(time)));
    }
    append(found, match.found());
  }
  EXPECT_EQ(match.waiting(), 0u);
  std::ranges::sort(found, {}, &TimedPosition::index);
  return found;
}

TEST(TimeMatch, PutsFramesOnTheLineBetweenSamplesWhateverCameFirst) {
  const std::vector<TimedPosition> first = mixed(0, true);
  ASSERT_EQ(first.size(), 40u);
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const std::vector<TimedPosition> found = mixed(seed, seed % 2 == 0);
    ASSERT_EQ(found.size(), 40u);
    for (std::size_t i = 0; i < 40; ++i) {
      EXPECT_EQ(found[i].index, static_cast<std::int64_t>(i));
      EXPECT_EQ(found[i].x, first[i].x);
      EXPECT_EQ(found[i].y, first[i].y);
      EXPECT_NEAR(found[i].x, 3 * static_cast<double>(i), 1e-5);
      EXPECT_NEAR(found[i].y, 1 - 2 * static_cast<double>(i), 1e-5);
    }
  }
}

/// The x of one frame at `time`; y has the same samples.
std::vector<TimedPosition> of_one_frame(Between between, double gap, double time) {
  TimeMatch match(between, gap);
  for (const double at : {10., 12., 20.})
    for (const int axis : {0, 1}) EXPECT_TRUE(match.add_sample(axis, at, at * at));
  match.add_frame(7, time);
  return match.found();
}

TEST(TimeMatch, TakesTheNearerTheEarlierOrBothOfTwoSamples) {
  EXPECT_DOUBLE_EQ(of_one_frame(Between::linear, 5, 11.5).at(0).x, 100 + 0.75 * 44);
  EXPECT_EQ(of_one_frame(Between::nearest, 5, 11.5).at(0).x, 144);
  EXPECT_EQ(of_one_frame(Between::nearest, 5, 10.5).at(0).x, 100);
  EXPECT_EQ(of_one_frame(Between::before, 5, 11.5).at(0).x, 100);
  for (const Between each : {Between::linear, Between::nearest, Between::before})
    EXPECT_EQ(of_one_frame(each, 0, 12).at(0).y, 144) << "at the time of a sample";
}

TEST(TimeMatch, LeavesFramesInLongGapsAndBeforeTheFirstSampleWithoutPosition) {
  EXPECT_TRUE(of_one_frame(Between::linear, 5, 16).empty());
  EXPECT_TRUE(of_one_frame(Between::nearest, 3, 16).empty());
  EXPECT_TRUE(of_one_frame(Between::before, 3, 16).empty());
  for (const Between each : {Between::linear, Between::before})
    EXPECT_TRUE(of_one_frame(each, 100, 9).empty());
}

TEST(TimeMatch, KeepsFramesWaitingUntilBothAxesHaveALaterSampleOrTheEndIsSaid) {
  TimeMatch match(Between::before, 100);
  match.add_sample(0, 1, 10);
  match.add_sample(1, 1, 20);
  match.add_frame(0, 2);
  match.add_sample(0, 3, 30);
  EXPECT_TRUE(match.found().empty());
  EXPECT_EQ(match.waiting(), 1u);
  const std::vector<TimedPosition> last = match.found_at_end();
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].x, 10);
  EXPECT_EQ(last[0].y, 20);
  EXPECT_EQ(match.waiting(), 0u);
}

TEST(TimeMatch, RefusesSamplesThatGoBackInTimeAndTakesOneThatIsSaidAgain) {
  TimeMatch match(Between::linear, 1);
  EXPECT_TRUE(match.add_sample(0, 5, 1));
  EXPECT_TRUE(match.add_sample(0, 5, 1));
  EXPECT_FALSE(match.add_sample(0, 5, 2));
  EXPECT_FALSE(match.add_sample(0, 4, 1));
  EXPECT_FALSE(match.add_sample(0, std::nan(""), 1));
  EXPECT_FALSE(match.add_sample(0, 6, HUGE_VAL));
}

}  // namespace
}  // namespace ptyche
