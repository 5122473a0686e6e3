// The solver beside a running scan: how much of it it may hold.
#include "ptyche/live/background_solver.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "ptyche/core/progress.h"
#include "ptyche/simulate/simulate.h"

namespace ptyche {
namespace {

const Scan& leaves() {
  static const Scan scan = simulate({.pattern_size = 32,
                                     .frames = 144,
                                     .step_px = 3,
                                     .photons = 1e5,
                                     .probe_diameter_px = 12,
                                     .seed = 4});
  return scan;
}

/// As if patterns first..last-1 had come.
LiveFrames frames_of_scan(const Scan& scan, std::int64_t first, std::int64_t last) {
  LiveFrames frames;
  for (std::int64_t i = first; i < last; ++i) {
    frames.places.push_back({.index = i,
                             .number = i,
                             .row = scan.positions()[i][0].item<double>(),
                             .col = scan.positions()[i][1].item<double>()});
    frames.counts.push_back(scan.counts()[i]);
  }
  return frames;
}

LiveBasis basis_of(const Scan& scan) {
  return {.geometry = scan.geometry(), .probe = scan.probe(), .probe_calibrated = true};
}

/// The solver's image once it is newer than `before`.
SharedImage newer_image(const LiveBoard& board, const SharedImage& before) {
  const Stopwatch watch;
  while (board.solver() == before && watch.seconds() < 60)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return board.solver();
}

TEST(LastOf, AreNeighboursAtTheEndOfTheScan) {
  const std::vector<JoinedFrame> all = frames_of_scan(leaves(), 0, 144).places;
  const std::vector<JoinedFrame> some = last_of(all, 40);
  ASSERT_EQ(some.size(), 40u);
  EXPECT_EQ(some.front().index, 104);
  EXPECT_EQ(some.back().index, 143);
  EXPECT_EQ(last_of(all, 1000).size(), 144u);
}

TEST(BytesOfRound, CountWhatIsCopiedAndTheModel) {
  EXPECT_EQ(bytes_of_round(at::zeros({8, 4}, at::kShort)), 32 * (2 + 2 + 4));
}

TEST(BackgroundSolver, GoesOnWithThePartThatFitsWhereTheScanGoesOn) {
  LiveBoard board;
  BackgroundSolver solver({}, board);
  solver.offer(frames_of_scan(leaves(), 0, 72), basis_of(leaves()), 1, /*partial=*/true);
  const SharedImage first = newer_image(board, nullptr);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->frames, 72);
  SharedImage last = first;
  for (int round = 0; round < 6; ++round) {  // as many patterns each time, but others
    const std::int64_t begin = 12 * (round + 1);
    solver.offer(frames_of_scan(leaves(), begin, begin + 72), basis_of(leaves()), 2, true);
    const SharedImage next = newer_image(board, last);
    ASSERT_NE(next, last) << "it must not take the same number of patterns for the same patterns";
    last = next;
  }
  EXPECT_GT(last->image.origin_row + last->image.origin_col,
            first->image.origin_row + first->image.origin_col - 1);
  EXPECT_LT(last->deviance, 0.2);
  EXPECT_TRUE(last->partial);
}

TEST(LiveBoard, ShowsTheWholeImageAndNotAPartOfIt) {
  LiveBoard board;
  const auto image = [](bool partial, double deviance) {
    return std::make_shared<const LiveImage>(LiveImage{.partial = partial, .deviance = deviance});
  };
  const SharedImage network = image(false, 0.1), part = image(true, 0.01),
                    whole = image(false, 0.01);
  board.publish(part, true);
  EXPECT_EQ(board.shown(), part) << "a part is better than nothing";
  board.publish(network, false);
  EXPECT_EQ(board.shown(), network);
  board.publish(whole, true);
  EXPECT_EQ(board.shown(), whole);
}

}  // namespace
}  // namespace ptyche
