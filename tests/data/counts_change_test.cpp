#include "ptyche/data/counts_change.h"

#include <gtest/gtest.h>

#include "ptyche/data/array.h"

namespace ptyche {
namespace {

TEST(BrightestBeside, IsTheLargestOfEightPixelsWithDarkOutside) {
  const at::Tensor images = at::tensor({9, 1, 2, 3, 4, 5, 6, 7, 8}, at::kFloat).view({1, 3, 3});
  const at::Tensor right = at::tensor({4, 9, 5, 9, 9, 8, 7, 8, 7}, at::kFloat).view({1, 3, 3});
  EXPECT_TRUE(at::equal(brightest_beside(images), right)) << brightest_beside(images);
}

TEST(CountsChange, ReplacesSinglePixelsFarAboveAllBesideThemAndNothingElse) {
  const at::Tensor smooth = at::full({3, 32, 32}, 20, at::kShort);
  at::Tensor spiked = smooth.clone();
  spiked[0][5][11] = 900;
  spiked[2][0][4] = 151;    // on the edge
  spiked[1][16][16] = 900;  // a direct beam
  spiked[1][4][4] = 149;    // bright, but not enough
  spiked[1][11][4] = 900;
  spiked[1][11][5] = 900;  // two beside each other may be a peak
  const at::Tensor mended = changed_counts(spiked, RemoveSpikes{});
  at::Tensor right = spiked.clone();
  right[0][5][11] = 20;
  right[2][0][4] = 12;  // five of eight beside it are on the detector
  EXPECT_TRUE(at::equal(mended.to(at::kShort), right)) << (mended - right).nonzero();
}

TEST(CountsChange, OfSpikesInBrightPatternsLeavesNothingBelowZero) {
  at::Tensor bright = at::zeros({1, 32, 32});
  bright[0][20][9] = 128826761.f;  // to float32 nine times the mean around it is 8 less than it
  bright[0][20][10] = 1;
  EXPECT_EQ(changed_counts(bright, RemoveSpikes{}).min().item<float>(), 0);
}

TEST(CountsChange, OfAnyKindComesBackFromItsNumbers) {
  const CountsChange changes[] = {
      ChangeValues{.way = ChangeValues::Way::power, .unit = 0.3},
      ShiftPatterns{.rows = -3, .cols = 5, .around = true},
      RemoveSpikes{.times = 7, .above = 31},
  };
  const at::Tensor counts = at::randint(0, 300, {2, 16, 16}, at::kShort);
  for (const CountsChange& change : changes) {
    const CountsChange back = counts_change_of(as_numbers(change));
    EXPECT_EQ(back.index(), change.index());
    EXPECT_TRUE(at::equal(changed_counts(counts, back), changed_counts(counts, change)));
  }
}

}  // namespace
}  // namespace ptyche
