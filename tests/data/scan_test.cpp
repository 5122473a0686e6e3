#include "ptyche/data/scan.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "ptyche/core/error.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

constexpr std::int64_t kFrames = 5, kSize = 4;

ScanFields good_fields() {
  ScanFields fields;
  fields.counts = at::arange(kFrames * kSize * kSize, at::kInt).reshape({kFrames, kSize, kSize});
  fields.positions = at::arange(2.0 * kFrames, at::kDouble).reshape({kFrames, 2});
  fields.probe = at::ones({2, kSize, kSize}, at::kComplexFloat);
  return fields;
}

struct BadField {
  const char* name;
  std::function<void(ScanFields&)> spoil;
  const char* found;
};

TEST(Scan, RefusesEachBadArrayByName) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<BadField> table = {
      {"counts", [](auto& f) { f.counts = at::Tensor(); }, "found nothing"},
      {"counts",
       [](auto& f) {
         f.counts = at::zeros({5, 4, 6}, at::kInt);
       },
       "(5, 4, 6) int32"},
      {"counts",
       [](auto& f) {
         f.counts = at::zeros({5, 3, 3}, at::kInt);
       },
       "found 3"},
      {"counts",
       [](auto& f) {
         f.counts = at::zeros({5, 4, 4}, at::kDouble);
       },
       "found float64"},
      {"counts", [](auto& f) { f.counts = f.counts - 1; }, "-1"},
      {"counts",
       [&](auto& f) {
         f.counts = at::full({5, 4, 4}, nan);
       },
       "nan"},
      {"positions", [](auto& f) { f.positions = f.positions.narrow(0, 0, 4); }, "(4, 2) float64"},
      {"positions", [&](auto& f) { f.positions = f.positions * nan; }, "NaN"},
      {"probe",
       [](auto& f) {
         f.probe = at::ones({1, 6, 6}, at::kComplexFloat);
       },
       "(1, 6, 6)"},
      {"probe",
       [](auto& f) {
         f.probe = at::ones({1, 4, 4});
       },
       "float32"},
      {"probe", [](auto& f) { f.probe = f.probe * 0; }, "found 0"},
      {"mask",
       [](auto& f) {
         f.mask = at::ones({4, 4});
       },
       "(4, 4) float32"},
      {"mask",
       [](auto& f) {
         f.mask = at::zeros({4, 4}, at::kBool);
       },
       "none of 16"},
      {"frame_use", [](auto& f) { f.frame_use = at::zeros({4}, at::kByte); }, "(4) uint8"},
      {"frame_use", [](auto& f) { f.frame_use = at::full({5}, 4, at::kByte); }, "found 4"},
      {"truth",
       [](auto& f) {
         f.truth = at::ones({9, 9});
       },
       "(9, 9) float32"},
  };
  for (const BadField& bad : table) {
    ScanFields fields = good_fields();
    bad.spoil(fields);
    try {
      Scan scan(fields);
      ADD_FAILURE() << bad.name << " was accepted, expected: " << bad.found;
    } catch (const InvalidInput& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.rfind(std::string(bad.name) + ": expected", 0), 0u) << message;
      EXPECT_NE(message.find(bad.found), std::string::npos) << message;
    }
  }
}

TEST(Scan, CountsAllPixelsAndUsesAllFramesByDefault) {
  const Scan scan(good_fields());
  EXPECT_TRUE(scan.mask().all().item<bool>());
  EXPECT_EQ(scan.frames_with(FrameUse::used).size(0), kFrames);
  EXPECT_EQ(scan.frames_with(FrameUse::held_out).size(0), 0);
}

TEST(Scan, ListsTheFramesOfOneUseInAscendingOrder) {
  const Scan scan = Scan(good_fields()).with_frame_use(at::tensor({1, 0, 2, 1, 3}).to(at::kByte));
  EXPECT_TRUE(at::equal(scan.frames_with(FrameUse::held_out), at::tensor({0, 3}, at::kLong)));
  EXPECT_TRUE(at::equal(scan.frames_with(FrameUse::rejected), at::tensor({2}, at::kLong)));
  EXPECT_TRUE(at::equal(scan.frames_with(FrameUse::unseen), at::tensor({4}, at::kLong)));
}

TEST(Scan, ChecksAReplacedProbeAndLeavesTheFirstScanAlone) {
  const Scan scan(good_fields());
  EXPECT_THROW(scan.with_probe(at::ones({1, 6, 6}, at::kComplexFloat)), InvalidInput);
  const Scan other = scan.with_probe(at::ones({1, kSize, kSize}, at::kComplexFloat));
  EXPECT_EQ(other.probe().size(0), 1);
  EXPECT_EQ(scan.probe().size(0), 2);
}

TEST(CountsInFftOrder, BringsTheMiddlePixelToIndexZero) {
  ScanFields fields = good_fields();
  fields.counts = at::zeros({kFrames, kSize, kSize}, at::kShort);
  fields.counts[3][2][2] = 300;  // (N/2, N/2)
  fields.counts[3][2][3] = 7;
  const at::Tensor counts = counts_in_fft_order(Scan(fields), at::tensor({3, 0}, at::kLong));
  EXPECT_EQ(counts.scalar_type(), at::kFloat);
  EXPECT_EQ(counts[0][0][0].item<float>(), 300);
  EXPECT_EQ(counts[0][0][1].item<float>(), 7);
  EXPECT_EQ(counts.sum().item<float>(), 307);
}

TEST(CountsInFftOrder, AreThoseOfARollByHalfInEveryTypeThatCountsHave) {
  at::manual_seed(2);
  for (const at::ScalarType type : {at::kByte, at::kShort, at::kInt, at::kFloat}) {
    ScanFields fields = good_fields();
    fields.counts = at::randint(0, 200, {kFrames, kSize, kSize}).to(type);
    const at::Tensor frames = at::tensor({2, 0, 3}, at::kLong);
    const at::Tensor expected =
        fields.counts.index_select(0, frames).roll({kSize / 2, kSize / 2}, {1, 2}).to(at::kFloat);
    EXPECT_TRUE(at::equal(counts_in_fft_order(Scan(fields), frames), expected)) << type;
  }
}

TEST(MaskInFftOrder, MovesWithTheCounts) {
  ScanFields fields = good_fields();
  fields.mask = at::ones({kSize, kSize}, at::kBool);
  fields.mask[2][2] = false;
  const at::Tensor mask = mask_in_fft_order(Scan(fields));
  EXPECT_FALSE(mask[0][0].item<bool>());
  EXPECT_EQ(mask.sum().item<std::int64_t>(), kSize * kSize - 1);
}

TEST(InSmallestExactType, IsTheNarrowestThatChangesNoValue) {
  const std::vector<std::pair<double, at::ScalarType>> table = {
      {255, at::kByte},         {256, at::kShort},          {32767, at::kShort}, {32768, at::kInt},
      {2147483647.0, at::kInt}, {2147483648.0, at::kFloat}, {0.5, at::kFloat},
  };
  for (const auto& [value, type] : table) {
    at::Tensor counts = at::zeros({130, 2, 2}, at::kDouble);
    counts[129][1][0] = value;  // in the last batch
    const at::Tensor narrow = in_smallest_exact_type(counts);
    EXPECT_EQ(narrow.scalar_type(), type) << value;
    EXPECT_TRUE(at::equal(narrow.to(at::kDouble), counts)) << value;
  }
}

TEST(PositionBox, IsNotMadeLargeByARejectedPatternThatIsFarOff) {
  const Scan scan = small_scan(25);
  const PositionBox before = position_box(scan);
  at::Tensor positions = scan.positions().clone(), use = scan.frame_use().clone();
  positions[7] += 1e6;
  use[7] = static_cast<int>(FrameUse::rejected);
  const PositionBox box = position_box(scan.with_positions(positions).with_frame_use(use));
  const at::Tensor longest = 3 * (before.high - before.low) + 2 * scan.pattern_size();
  EXPECT_TRUE((box.high - box.low).le(longest).all().item<bool>());
  use[7] = static_cast<int>(FrameUse::held_out);
  const Scan kept = scan.with_positions(positions).with_frame_use(use);
  EXPECT_TRUE(at::equal(position_box(kept).high, positions.amax(0)));
}

}  // namespace
}  // namespace ptyche
