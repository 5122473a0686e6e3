#include "ptyche/group/fixed_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/group/make_groups.h"
#include "tests/support/refusal.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

using Numbers = std::vector<std::int64_t>;

Numbers row_of(const at::Tensor& groups, std::int64_t row) {
  const at::Tensor members = groups[row].contiguous();
  const auto* first = members.const_data_ptr<std::int64_t>();
  return {first, first + members.numel()};
}

/// The groups as sets of patterns.
std::set<std::set<std::int64_t>> sets_of(const at::Tensor& groups) {
  std::set<std::set<std::int64_t>> sets;
  for (std::int64_t row = 0; row < groups.size(0); ++row) {
    const Numbers members = row_of(groups, row);
    sets.emplace(members.begin(), members.end());
  }
  return sets;
}

bool no_pattern_twice_in(const at::Tensor& groups) {
  for (const auto& members : sets_of(groups))
    if (static_cast<std::int64_t>(members.size()) != groups.size(1)) return false;
  return true;
}

Scan scan_at(const at::Tensor& positions) {
  return small_scan(positions.size(0)).with_positions(positions);
}

std::string refusal(const Scan& scan, const FixedGroupOptions& options) {
  return message_of([&] { fixed_groups(scan, options); });
}

TEST(FixedGroups, OfTwoHundredPatternsAreFiftyOfFourWithGridsizeTwo) {
  const at::Tensor groups = fixed_groups(small_scan(200), {.gridsize = 2});
  EXPECT_EQ(groups.sizes(), (std::vector<std::int64_t>{50, 4}));
  EXPECT_EQ(groups.scalar_type(), at::kLong);
  EXPECT_TRUE(no_pattern_twice_in(groups));
}

TEST(FixedGroups, AreMadeAnewOfTheSameScanWithAnotherGridsizeCountOrSeed) {
  const Scan scan = small_scan(100);
  const at::Tensor first = fixed_groups(scan, {.gridsize = 2});
  EXPECT_EQ(fixed_groups(scan, {.gridsize = 3, .neighbours = 9}).sizes(),
            (std::vector<std::int64_t>{11, 9}));
  EXPECT_EQ(fixed_groups(scan, {.gridsize = 2, .count = 80}).size(0), 80);
  EXPECT_FALSE(at::equal(first, fixed_groups(scan, {.gridsize = 2, .seed = 2})));
  EXPECT_TRUE(at::equal(first, fixed_groups(scan, {.gridsize = 2})));
}

TEST(FixedGroups, AroundAPatternAreTheSameHoweverManyThereAre) {
  const Scan scan = small_scan(64);
  const at::Tensor all = fixed_groups(scan, {.gridsize = 2, .count = 64, .neighbours = 7});
  const at::Tensor some = fixed_groups(scan, {.gridsize = 2, .count = 20, .neighbours = 7});
  EXPECT_TRUE(at::equal(all.select(1, 0), at::arange(64)));
  EXPECT_TRUE(at::equal(some, all.index_select(0, some.select(1, 0).contiguous())));
}

TEST(FixedGroups, HoldTheirSeedOnlyIfTheyShould) {
  const Scan scan = small_scan(64);
  const at::Tensor own = fixed_groups(scan, {.gridsize = 2, .count = 64});
  const at::Tensor others = fixed_groups(scan, {.gridsize = 2, .count = 64, .own_seed = false});
  const at::Tensor seeds = at::arange(64).unsqueeze(1);
  EXPECT_TRUE(own.eq(seeds).any(1).all().item<bool>());
  EXPECT_FALSE(others.eq(seeds).any().item<bool>());
}

TEST(FixedGroups, NameTheOthersByDistance) {
  const Scan scan = small_scan(64);
  const at::Tensor groups = fixed_groups(scan, {.gridsize = 3, .neighbours = 20});
  const at::Tensor places = scan.positions().index_select(0, groups.view(-1)).view({-1, 9, 2});
  const at::Tensor distance = (places - places.slice(1, 0, 1)).square().sum(2);
  EXPECT_TRUE(distance.diff(1, 1).ge(0).all().item<bool>());
}

TEST(FixedGroups, AreAroundTheFirstPatternsIfSequential) {
  ScanFields fields = small_scan(36).fields();
  fields.frame_use = fields.frame_use.clone();
  fields.frame_use[1] = static_cast<std::int64_t>(FrameUse::held_out);
  const at::Tensor groups =
      fixed_groups(Scan(fields), {.gridsize = 2, .count = 3, .sequential = true});
  EXPECT_TRUE(at::equal(groups.select(1, 0), at::tensor({0, 2, 3}, at::kLong)));
}

TEST(FixedGroups, AreTheSeedsThemselvesWithGridsizeOne) {
  const Scan scan = small_scan(36);
  for (const bool own : {true, false}) {
    const at::Tensor all = fixed_groups(scan, {.own_seed = own});
    EXPECT_TRUE(at::equal(all, at::arange(36).unsqueeze(1)));
    const at::Tensor some = fixed_groups(scan, {.count = 20, .own_seed = own});
    EXPECT_EQ(some.sizes(), (std::vector<std::int64_t>{20, 1}));
    EXPECT_EQ(sets_of(some).size(), 20u);
  }
}

TEST(FixedGroups, OfMoreThanThePatternsAreDifferentOnes) {
  const Scan scan = small_scan(36);
  for (const bool own : {true, false}) {
    const FixedGroupOptions options{
        .gridsize = 2, .count = 150, .neighbours = 6, .oversampling = true, .own_seed = own};
    const at::Tensor groups = fixed_groups(scan, options);
    EXPECT_EQ(groups.size(0), 150);
    EXPECT_EQ(sets_of(groups).size(), 150u);
    EXPECT_TRUE(no_pattern_twice_in(groups));
    EXPECT_TRUE(at::equal(groups, fixed_groups(scan, options)));
  }
}

TEST(FixedGroups, OfMoreThanThePatternsAreAroundAllOfThem) {
  const at::Tensor groups = fixed_groups(
      small_scan(36), {.gridsize = 2, .count = 300, .neighbours = 6, .oversampling = true});
  // 300 of the 720 choices: 20 around each pattern, 8 or so of them drawn.
  for (std::int64_t seed = 0; seed < 36; ++seed)
    EXPECT_GE(groups.select(1, 0).eq(seed).sum().item<std::int64_t>(), 1) << seed;
}

TEST(FixedGroups, ArePossibleInExactlyTheNumberThatARefusalNames) {
  const Scan scan = small_scan(16);
  FixedGroupOptions options{.gridsize = 2, .count = 100000, .oversampling = true};
  options.neighbour_pool = 5;
  const std::string message = refusal(scan, options);
  const std::string before = "100000: ", after = " different groups of 4 patterns can be made";
  const auto from = message.find(before), to = message.find(after);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos) << message;
  options.count = std::stoll(message.substr(from + before.size()));
  EXPECT_GT(options.count, 16);
  EXPECT_LE(options.count, 160);
  EXPECT_EQ(static_cast<std::int64_t>(sets_of(fixed_groups(scan, options)).size()), options.count);
  ++options.count;
  EXPECT_NE(refusal(scan, options), "");
}

TEST(FixedGroups, SayHowManyCanBeMadeAndWhatAllowsMore) {
  const std::string message = refusal(small_scan(36), {.gridsize = 2, .count = 37});
  EXPECT_NE(message.find("36 groups of 4 patterns can be made"), std::string::npos) << message;
  EXPECT_NE(message.find("--enable-oversampling allows up to 144, by the 4 choices of 3 of the 4"),
            std::string::npos)
      << message;
  const std::string found =
      refusal(small_scan(36), {.gridsize = 2, .count = 37, .own_seed = false});
  EXPECT_NE(found.find("a larger --neighbor-count"), std::string::npos) << found;
  const std::string single = refusal(small_scan(36), {.count = 37, .oversampling = true});
  EXPECT_NE(single.find("36 groups of 1 patterns can be made"), std::string::npos) << single;
  EXPECT_EQ(single.find("oversampling"), std::string::npos) << single;
}

TEST(FixedGroups, RefuseWhatIsTooSmallForAGroupAndSayWhatIsNeeded) {
  const std::string neighbours = refusal(small_scan(36), {.gridsize = 3});
  EXPECT_NE(neighbours.find("--neighbor-count: groups of 9 patterns need 8 neighbours"),
            std::string::npos)
      << neighbours;
  const std::string patterns = refusal(small_scan(4), {.gridsize = 2, .own_seed = false});
  EXPECT_NE(patterns.find("need 5 that may be used, the scan has 4"), std::string::npos)
      << patterns;
  EXPECT_EQ(fixed_groups(small_scan(4), {.gridsize = 2}).size(0), 1);
  EXPECT_NE(refusal(small_scan(36), {.gridsize = 9}), "");
  EXPECT_NE(refusal(small_scan(36), {.count = -1}), "");
  const FixedGroupOptions too_many{
      .gridsize = 6, .count = 101, .oversampling = true, .neighbour_pool = 80};
  EXPECT_NE(refusal(small_scan(100), too_many).find("choose a smaller one"), std::string::npos);
}

TEST(FixedGroups, AreMadeOfPatternsOnALineToo) {
  at::Tensor positions = at::full({40, 2}, 20, at::kDouble);
  positions.select(1, 1).copy_(at::arange(40, at::kDouble) + 10);
  const at::Tensor groups = fixed_groups(scan_at(positions), {.gridsize = 2, .count = 40});
  EXPECT_TRUE(no_pattern_twice_in(groups));
  const at::Tensor span = std::get<0>(groups.max(1)) - std::get<0>(groups.min(1));
  EXPECT_LE(span.max().item<std::int64_t>(), 4);
}

TEST(FixedGroups, KnowTheirSeedAmongPatternsAtOnePosition) {
  at::Tensor positions = small_scan(36).positions().clone();
  positions.slice(0, 0, 30).copy_(positions[0].expand({30, 2}));
  const Scan scan = scan_at(positions);
  const at::Tensor own = fixed_groups(scan, {.gridsize = 2, .count = 36});
  EXPECT_TRUE(at::equal(own.select(1, 0), at::arange(36)));
  EXPECT_TRUE(no_pattern_twice_in(own));
  const at::Tensor others = fixed_groups(scan, {.gridsize = 2, .count = 36, .own_seed = false});
  EXPECT_FALSE(others.eq(at::arange(36).unsqueeze(1)).any().item<bool>());
  EXPECT_TRUE(no_pattern_twice_in(others));
}

TEST(FixedGroups, NeverHoldAPatternThatIsHeldOut) {
  const Scan scan = small_scan(64);
  at::Tensor use = scan.frame_use().clone();
  use.slice(0, 0, 64, 3).fill_(static_cast<std::int64_t>(FrameUse::held_out));
  const Scan part = scan.with_frame_use(use);
  const at::Tensor held_out = part.frames_with(FrameUse::held_out);
  for (const std::int64_t count : {10, 42, 100}) {
    const at::Tensor groups =
        fixed_groups(part, {.gridsize = 2, .count = count, .neighbours = 7, .oversampling = true});
    EXPECT_FALSE(at::isin(groups, held_out).any().item<bool>()) << count;
  }
}

TEST(GroupCentres, AreTheMeanPositions) {
  const at::Tensor positions = at::tensor({0., 0., 0., 4., 2., 0.}, at::kDouble).view({3, 2});
  const at::Tensor groups = at::tensor({0, 1, 1, 2}, at::kLong).view({2, 2});
  EXPECT_TRUE(at::equal(group_centres(positions, groups),
                        at::tensor({0., 2., 1., 2.}, at::kDouble).view({2, 2})));
}

class EpochOfFixedGroups : public testing::Test {
 protected:
  const at::Tensor fixed_ = fixed_groups(small_scan(36), {.gridsize = 2, .count = 20});
  const Groups groups_ = groups_of(fixed_, 5);
};

TEST_F(EpochOfFixedGroups, ShowsEveryGroupOnceWithAllItsPatternsMerged) {
  std::multiset<Numbers> shown, expected;
  for (const GroupBatch& batch : draw_epoch(groups_, 3, 0)) {
    const at::Tensor frames = batch.frames.view({batch.count, 4});
    for (std::int64_t row = 0; row < batch.count; ++row) shown.insert(row_of(frames, row));
    EXPECT_TRUE(at::equal(batch.merged, at::arange(4 * batch.count)));
    EXPECT_TRUE(at::equal(batch.group, at::arange(batch.count).repeat_interleave(4)));
  }
  for (std::int64_t row = 0; row < 20; ++row) expected.insert(row_of(fixed_, row));
  EXPECT_EQ(shown, expected);
}

TEST_F(EpochOfFixedGroups, EndsWithASmallerBatchWhereTheyDoNotDivide) {
  const auto batches = draw_epoch(groups_, 8, 0);
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(batches[1].count, 8);
  EXPECT_EQ(batches[2].count, 4);
  EXPECT_EQ(draw_epoch(groups_, 1000, 0).size(), 1u);
}

TEST_F(EpochOfFixedGroups, IsTheSameForTheSameSeedAndEpochAndAnotherForTheNext) {
  const at::Tensor first = draw_epoch(groups_, 20, 3)[0].frames;
  EXPECT_TRUE(at::equal(first, draw_epoch(groups_, 20, 3)[0].frames));
  EXPECT_FALSE(at::equal(first, draw_epoch(groups_, 20, 4)[0].frames));
  EXPECT_FALSE(at::equal(first, draw_epoch(groups_of(fixed_, 6), 20, 3)[0].frames));
}

TEST(VisitsPerEpoch, IsTheMeanNumberOfGroupsThatAPatternIsIn) {
  const at::Tensor fixed = at::tensor({0, 1, 1, 2, 2, 0, 0, 2}, at::kLong).view({4, 2});
  EXPECT_DOUBLE_EQ(visits_per_epoch(groups_of(fixed, 1)), 8.0 / 3);
  EXPECT_DOUBLE_EQ(visits_per_epoch(make_groups(small_scan(36), {.size = 8, .merged = 5})), 1.6);
}

}  // namespace
}  // namespace ptyche
