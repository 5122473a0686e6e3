// Frames and positions joined by index, whatever happens on the way.
#include "ptyche/live/joiner.h"

#include <gtest/gtest.h>

#include <thread>

#include "ptyche/core/random.h"
#include "ptyche/live/source.h"
#include "tests/support/refusal.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

FrameMessage frame(std::int64_t index, std::int64_t series = 1) {
  return {.series = series, .index = index, .counts = at::full({2, 2}, index, at::kShort)};
}
PositionsMessage place(std::int64_t index) {
  const auto row = static_cast<double>(index);
  return {index, at::tensor({row, -row}, at::kDouble).view({1, 2}), false};
}

/// All joined frames of 40 patterns that come in a random order, positions apart.
std::vector<JoinedFrame> joined_in_order(std::uint64_t seed) {
  Joiner joiner("", 1 << 20);
  for (const std::int64_t i : permutation(80, RandomStream(seed, Purpose::live_replay))) {
    if (i < 40)
      joiner.add(frame(i));
    else
      joiner.add(place(i - 40), 0);
  }
  EXPECT_TRUE(joiner.missing_frames().empty());
  return joiner.joined();
}

TEST(Joiner, GivesTheSamePairsForEveryOrderOfArrival) {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const std::vector<JoinedFrame> found = joined_in_order(seed);
    ASSERT_EQ(found.size(), 40u);
    for (std::int64_t i = 0; i < 40; ++i) {
      EXPECT_EQ(found[static_cast<std::size_t>(i)].index, i);
      EXPECT_EQ(found[static_cast<std::size_t>(i)].row, static_cast<double>(i));
      EXPECT_EQ(found[static_cast<std::size_t>(i)].col, -static_cast<double>(i));
    }
  }
}

TEST(Joiner, CountsAndListsWhatIsLostRepeatedAndOfAnotherSeries) {
  Joiner joiner("", 1 << 20);
  joiner.add(SeriesStart{.series = 1, .frames = 10});
  for (const std::int64_t i : {0, 1, 1, 2, 5, 7}) joiner.add(frame(i));
  FrameMessage other = frame(2);
  other.counts = other.counts + 1;
  joiner.add(other);
  joiner.add(frame(3, 2));
  FrameMessage large = frame(8);
  large.counts = at::zeros({4, 4}, at::kShort);
  joiner.add(large);
  for (const std::int64_t i : {0, 1, 2, 2, 9}) joiner.add(place(i), 0);
  const JoinCounts& counts = joiner.counts();
  EXPECT_EQ(counts.frames, 5);
  EXPECT_EQ(counts.joined, 3);
  EXPECT_EQ(counts.repeated_frames, 2);
  EXPECT_EQ(counts.different_frames, 1);
  EXPECT_EQ(counts.repeated_positions, 1);
  EXPECT_EQ(counts.different_positions, 0);
  EXPECT_EQ(counts.other_series, 1);
  EXPECT_EQ(counts.other_shape, 1);
  EXPECT_EQ(joiner.expected(), 10);
  EXPECT_EQ(ranges_text(joiner.missing_frames()), "3-4, 6, 8-9");
  EXPECT_EQ(ranges_text(joiner.without_position()), "5, 7");
  EXPECT_EQ(ranges_text(joiner.without_frame()), "9");
}

TEST(Joiner, KeepsTheFirstOfRepeatedFrames) {
  Joiner joiner("", 1 << 20);
  joiner.add(frame(0));
  FrameMessage again = frame(0);
  again.counts = again.counts + 9;
  joiner.add(again);
  joiner.add(place(0), 0);
  EXPECT_EQ(joiner.store().frame(joiner.joined().at(0).number)[0][0].item<int>(), 0);
}

TEST(FrameStore, HoldsTheSameFramesOnDiskWhereMemoryIsShortAndLeavesNoFile) {
  const TestFolder folder;
  FrameStore store(folder.path(), 3 * 64);
  for (int i = 0; i < 50; ++i) store.add(at::full({4, 8}, i, at::kShort));
  EXPECT_EQ(store.bytes(), 50 * 64);
  EXPECT_EQ(store.bytes_on_disk(), 47 * 64);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(store.frame(i).eq(i).all().item<bool>()) << i;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(MessageQueue, WaitsWhenFullAndLosesNothing) {
  MessageQueue queue(2000);
  std::thread writer([&] {
    for (int i = 0; i < 200; ++i) queue.put(frame(i));
  });
  std::int64_t next = 0;
  while (next < 200)
    for (const LiveMessage& message : queue.take(std::chrono::milliseconds(10), 7))
      EXPECT_EQ(std::get<FrameMessage>(message).index, next++);
  writer.join();
  queue.close();
  EXPECT_FALSE(queue.put(frame(1)));
}

TEST(SourceUrl, NamesWhatItDoesNotKnow) {
  EXPECT_NE(message_of([] { source_url("zmq+eigr2://host:1"); }).find("did you mean 'zmq+eiger2'"),
            std::string::npos);
  EXPECT_NE(message_of([] { source_url("replay:a.h5?rat=3"); }).find("did you mean 'rate'"),
            std::string::npos);
  const SourceUrl url = source_url("replay:a?b.h5?rate=3");
  EXPECT_EQ(url.place, "a?b.h5");
  EXPECT_EQ(url.number("rate", 0, 0, 10), 3);
  EXPECT_NE(message_of([&] { url.number("rate", 0, 5, 10); }).find("from 5 to 10"),
            std::string::npos);
}

TEST(Record, GivesBackEveryMessageAlsoOfARunThatIsStillWriting) {
  const TestFolder folder;
  const auto file = folder / "record.h5";
  Recorder recorder(file);
  for (int i = 0; i < 300; ++i)
    recorder.add(
        {i % 2 ? "eiger2" : "json", {std::string(static_cast<std::size_t>(i), 'x'), "tail"}});
  recorder.flush();
  EXPECT_TRUE(is_record(file));
  int count = 0;
  read_record(file, [&](const RawMessage& raw, double) {
    EXPECT_EQ(raw.dialect, count % 2 ? "eiger2" : "json");
    EXPECT_EQ(raw.parts.at(0).size(), static_cast<std::size_t>(count));
    EXPECT_EQ(raw.parts.at(1), "tail");
    return ++count > 0;
  });
  EXPECT_EQ(count, 300);
}

}  // namespace
}  // namespace ptyche
