#include "ptyche/group/make_groups.h"

#include <gtest/gtest.h>

#include <set>

#include "ptyche/core/error.h"
#include "tests/support/refusal.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

TEST(MakeGroups, PutsTheSeedPatternFirstAndItsNearestNeighboursAfterIt) {
  const Scan scan = small_scan(36);
  const Groups groups = make_groups(scan, {.size = 9, .merged = 4});
  const at::Tensor positions = scan.positions();
  for (std::int64_t row = 0; row < 36; ++row) {
    EXPECT_EQ(groups.neighbours[row][0].item<std::int64_t>(), row);
    const at::Tensor distance = (positions - positions[row]).square().sum(1);
    const at::Tensor expected = std::get<0>(distance.sort()).slice(0, 0, 9);
    EXPECT_TRUE(at::equal(distance.index_select(0, groups.neighbours[row]), expected));
  }
}

TEST(MakeGroups, NeverTakesAPatternThatIsHeldOut) {
  const Scan scan = small_scan(36);
  at::Tensor use = scan.frame_use().clone();
  use.slice(0, 0, 10).fill_(static_cast<std::int64_t>(FrameUse::held_out));
  const Groups groups = make_groups(scan.with_frame_use(use), {.size = 8, .merged = 8});
  EXPECT_EQ(groups.neighbours.size(0), 26);
  EXPECT_GE(groups.neighbours.min().item<std::int64_t>(), 10);
}

TEST(MakeGroups, KeepsTheSeedAmongPatternsAtOnePosition) {
  ScanFields fields = small_scan(9).fields();
  fields.positions.slice(0, 0, 8).copy_(fields.positions[0].expand({8, 2}));
  const Groups groups = make_groups(Scan(fields), {.size = 3, .merged = 2});
  for (std::int64_t row = 0; row < 9; ++row)
    EXPECT_EQ(groups.neighbours[row][0].item<std::int64_t>(), row);
}

TEST(MakeGroups, SaysHowManyPatternsThereAreWhenThereAreTooFew) {
  const std::string message =
      message_of([] { make_groups(small_scan(9), {.size = 10, .merged = 4}); });
  EXPECT_NE(message.find("needs 10 patterns, the scan has 9"), std::string::npos) << message;
}

TEST(MakeGroups, MergesHalfOfAGroupUnlessToldOtherwise) {
  EXPECT_EQ(make_groups(small_scan(36), {.size = 9}).merged, 5);
  EXPECT_EQ(make_groups(small_scan(36), {.size = 1}).merged, 1);
  EXPECT_THROW(make_groups(small_scan(36), {.size = 4, .merged = 5}), InvalidInput);
}

TEST(DrawEpoch, MergesAboutAsManyPatchesAsThereArePatterns) {
  const Groups groups = make_groups(small_scan(36), {.size = 8, .merged = 5});
  std::int64_t merged = 0;
  for (const GroupBatch& batch : draw_epoch(groups, 3, 0)) merged += batch.merged.size(0);
  EXPECT_GE(merged, 36);
  EXPECT_LT(merged, 36 + 5);
}

TEST(DrawEpoch, IsTheSameForTheSameEpochAndAnotherForTheNext) {
  const Groups groups = make_groups(small_scan(36), {.size = 8, .merged = 4});
  const GroupBatch first = draw_epoch(groups, 2, 3)[1], again = draw_epoch(groups, 2, 3)[1];
  EXPECT_TRUE(at::equal(first.frames, again.frames) && at::equal(first.merged, again.merged));
  EXPECT_FALSE(at::equal(first.frames, draw_epoch(groups, 2, 4)[1].frames));
}

TEST(DrawEpoch, MergesEachPlaceOfAGroupAtMostOnce) {
  const Groups groups = make_groups(small_scan(36), {.size = 8, .merged = 4});
  for (const GroupBatch& batch : draw_epoch(groups, 2, 0)) {
    const auto* place = batch.merged.data_ptr<std::int64_t>();
    const std::set<std::int64_t> distinct(place, place + batch.merged.size(0));
    EXPECT_EQ(static_cast<std::int64_t>(distinct.size()), 4 * batch.count);
    EXPECT_LT(*distinct.rbegin(), batch.frames.size(0));
  }
}

at::Tensor used(const Scan& scan) { return scan.frames_with(FrameUse::used); }

TEST(Subsample, KeepsThatManyInTheirOrderAndRejectsTheOthers) {
  const Scan part = subsample(small_scan(36), {.count = 10});
  EXPECT_EQ(used(part).size(0), 10);
  EXPECT_TRUE(used(part).diff().gt(0).all().item<bool>());
  EXPECT_EQ(part.frames_with(FrameUse::rejected).size(0), 26);
  EXPECT_EQ(part.frames(), 36);
}

TEST(Subsample, IsDrawnByItsSeed) {
  const Scan scan = small_scan(36);
  const at::Tensor one = used(subsample(scan, {.count = 10, .seed = 1}));
  EXPECT_TRUE(at::equal(one, used(subsample(scan, {.count = 10, .seed = 1}))));
  EXPECT_FALSE(at::equal(one, used(subsample(scan, {.count = 10, .seed = 2}))));
}

TEST(Subsample, TakesTheFirstOfTheFileIfTold) {
  const Scan part = subsample(small_scan(36), {.count = 10, .first = true});
  EXPECT_TRUE(at::equal(used(part), at::arange(10)));
}

TEST(Subsample, LeavesPatternsThatWereNotInUseAsTheyAre) {
  const Scan scan = small_scan(36);
  at::Tensor use = scan.frame_use().clone();
  use.slice(0, 0, 12).fill_(static_cast<std::int64_t>(FrameUse::held_out));
  const Scan part = subsample(scan.with_frame_use(use), {.count = 20});
  EXPECT_EQ(part.frames_with(FrameUse::held_out).size(0), 12);
  EXPECT_EQ(used(part).size(0), 20);
  EXPECT_GE(used(part).min().item<std::int64_t>(), 12);
}

TEST(Subsample, KeepsAllIfAskedForNoneOrForMoreThanThereAre) {
  EXPECT_EQ(used(subsample(small_scan(36), {})).size(0), 36);
  EXPECT_EQ(used(subsample(small_scan(36), {.count = 99})).size(0), 36);
  EXPECT_THROW(subsample(small_scan(36), {.count = -1}), InvalidInput);
}

std::vector<WeightedGroups> groups_of_two(double first_weight, double second_weight) {
  return {{make_groups(small_scan(36), {.size = 8, .merged = 4}), first_weight},
          {make_groups(small_scan(72), {.size = 8, .merged = 4}), second_weight}};
}

/// Groups of each scan in an epoch.
std::vector<std::int64_t> counts_of(const std::vector<std::vector<ScanBatch>>& batches) {
  std::vector<std::int64_t> counts(2, 0);
  for (const auto& batch : batches)
    for (const ScanBatch& part : batch) counts[part.scan] += part.batch.count;
  return counts;
}

TEST(DrawMixedEpoch, ShowsEveryScanAsOftenAsItsWeightSays) {
  const auto shown = [](double first, double second) {
    return counts_of(draw_mixed_epoch(groups_of_two(first, second), 3, 1, 0));
  };
  EXPECT_EQ(shown(1, 1), (std::vector<std::int64_t>{9, 18}));
  EXPECT_EQ(shown(3, 0.5), (std::vector<std::int64_t>{27, 9}));
  EXPECT_EQ(shown(1.5, 1e-6), (std::vector<std::int64_t>{14, 1}));
}

TEST(DrawMixedEpoch, MixesScansInBatchesButNotInGroups) {
  bool mixed = false;
  for (const auto& batch : draw_mixed_epoch(groups_of_two(1, 1), 3, 1, 0)) {
    std::int64_t groups = 0;
    for (const ScanBatch& part : batch) {
      groups += part.batch.count;
      EXPECT_EQ(part.batch.frames.size(0), 8 * part.batch.count);
      EXPECT_EQ(part.batch.merged.size(0), 4 * part.batch.count);
      EXPECT_EQ(part.batch.group.max().item<std::int64_t>(), part.batch.count - 1);
      EXPECT_TRUE(part.batch.merged.diff().gt(0).all().item<bool>());
      EXPECT_LT(part.batch.frames.max().item<std::int64_t>(), part.scan == 0 ? 36 : 72);
    }
    EXPECT_LE(groups, 3);
    mixed |= batch.size() == 2;
  }
  EXPECT_TRUE(mixed);
}

TEST(DrawMixedEpoch, OfOneScanIsItsOwnEpoch) {
  const Groups groups = make_groups(small_scan(36), {.size = 8, .merged = 4});
  const auto mixed = draw_mixed_epoch({{groups}}, 2, 7, 3);
  const auto own = draw_epoch(groups, 2, 3);
  ASSERT_EQ(mixed.size(), own.size());
  for (std::size_t i = 0; i < own.size(); ++i)
    EXPECT_TRUE(at::equal(mixed[i][0].batch.frames, own[i].frames));
}

}  // namespace
}  // namespace ptyche
