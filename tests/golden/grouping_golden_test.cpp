// Family g: who is near whom, which groups may be drawn, and the truth under a pattern.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "ptyche/group/fixed_groups.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/physics/canvas.h"
#include "tests/support/golden.h"

namespace ptyche {
namespace {

using Members = std::set<std::int64_t>;

/// Entry (row) of a table of pattern numbers, as a set.
Members set_of(const at::Tensor& table, std::int64_t row) {
  const at::Tensor entry = table[row].to(at::kLong).contiguous();
  const auto* first = entry.const_data_ptr<std::int64_t>();
  return {first, first + entry.numel()};
}

bool holds(const Members& all, const Members& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

/// The golden scan, and what its invariants say of groups.
struct GoldenScan {
  explicit GoldenScan(const GoldenFile& golden)
      : positions(at::stack({golden.array("y"), golden.array("x")}, 1)),
        candidates(golden.array("candidates_sorted_by_distance").to(at::kLong)),
        neighbours(golden.integer("K")),
        gridsize(golden.integer("gridsize")),
        scan({.counts = golden.array("diff3d").square(),
              .positions = positions,
              .probe = at::ones({1, golden.integer("N"), golden.integer("N")}, at::kComplexFloat),
              .mask = {},
              .frame_use = {},
              .truth = {},
              .geometry = {},
              .source = "golden",
              .input_hash = ""}) {}

  FixedGroupOptions options(std::int64_t count, bool own_seed) const {
    return {.gridsize = gridsize,
            .count = count,
            .neighbours = neighbours,
            .oversampling = true,
            .own_seed = own_seed};
  }

  /// Whether the group is C different ones of the seed's candidates, or the seed and C - 1 of them.
  bool may_be_around(std::int64_t seed, const Members& group, bool own_seed) const {
    Members others = group;
    if (own_seed && others.erase(seed) == 0) return false;
    return static_cast<std::int64_t>(group.size()) == gridsize * gridsize &&
           holds(set_of(candidates, seed), others);
  }

  at::Tensor positions, candidates;
  std::int64_t neighbours, gridsize;
  Scan scan;
};

TEST(GoldenGroups, AreDrawnFromPtychoPinnsCandidates) {
  for_each_golden("g_grouping", [](const GoldenFile& golden) {
    const GoldenScan of(golden);
    const at::Tensor near = nearest_points(of.positions, 1 + of.neighbours);
    const at::Tensor others = near.slice(1, 1).contiguous();
    EXPECT_TRUE(at::equal(near.select(1, 0), at::arange(near.size(0))));
    EXPECT_TRUE(at::equal(others, of.candidates));
    const at::Tensor away =
        of.positions.index_select(0, others.view(-1)).view({-1, of.neighbours, 2});
    const at::Tensor distance = (away - of.positions.unsqueeze(1)).square().sum(2).sqrt();
    EXPECT_TRUE(agrees(distance, golden.array("candidate_distance"), 0, 1e-15));
  });
}

TEST(GoldenGroups, AreDifferentCandidatesOfTheSeedInBothWaysAndInPtychoPinn) {
  for_each_golden("g_grouping", [](const GoldenFile& golden) {
    const GoldenScan of(golden);
    const std::int64_t count = of.positions.size(0);
    const at::Tensor drawn = golden.array("draw_all_nn_indices");
    for (const bool own_seed : {true, false}) {
      const at::Tensor groups = fixed_groups(of.scan, of.options(count, own_seed));
      ASSERT_EQ(groups.sizes(), drawn.sizes());
      for (std::int64_t seed = 0; seed < count; ++seed)
        EXPECT_TRUE(of.may_be_around(seed, set_of(groups, seed), own_seed)) << seed;
    }
    for (std::int64_t seed = 0; seed < count; ++seed)
      EXPECT_TRUE(of.may_be_around(seed, set_of(drawn, seed), false)) << seed;
  });
}

TEST(GoldenGroups, AreAroundTheFirstPatternsInSequence) {
  for_each_golden("g_grouping", [](const GoldenFile& golden) {
    const GoldenScan of(golden);
    const at::Tensor drawn = golden.array("seq_nn_indices");
    for (const bool own_seed : {true, false}) {
      FixedGroupOptions options = of.options(drawn.size(0), own_seed);
      options.sequential = true;
      const at::Tensor groups = fixed_groups(of.scan, options);
      ASSERT_EQ(groups.sizes(), drawn.sizes());
      for (std::int64_t seed = 0; seed < drawn.size(0); ++seed)
        EXPECT_TRUE(of.may_be_around(seed, set_of(groups, seed), own_seed)) << seed;
    }
    for (std::int64_t seed = 0; seed < drawn.size(0); ++seed)
      EXPECT_TRUE(of.may_be_around(seed, set_of(drawn, seed), false)) << seed;
  });
}

TEST(GoldenGroups, OfMoreThanThePatternsAreChoicesAroundSomeSeed) {
  for_each_golden("g_grouping", [](const GoldenFile& golden) {
    const GoldenScan of(golden);
    const at::Tensor drawn = golden.array("oversample_nn_indices");
    const auto around_some = [&](const Members& group, bool own_seed) {
      for (std::int64_t seed = 0; seed < of.positions.size(0); ++seed)
        if (of.may_be_around(seed, group, own_seed)) return true;
      return false;
    };
    for (const bool own_seed : {true, false}) {
      const at::Tensor groups = fixed_groups(of.scan, of.options(drawn.size(0), own_seed));
      ASSERT_EQ(groups.sizes(), drawn.sizes());
      for (std::int64_t row = 0; row < groups.size(0); ++row)
        EXPECT_TRUE(around_some(set_of(groups, row), own_seed)) << row;
    }
    for (std::int64_t row = 0; row < drawn.size(0); ++row)
      EXPECT_TRUE(around_some(set_of(drawn, row), false)) << row;
  });
}

TEST(GoldenGroups, WithGridsizeOneAreDifferentSeeds) {
  for_each_golden("g_grouping", [](const GoldenFile& golden) {
    const GoldenScan of(golden);
    const at::Tensor drawn = golden.array("gs1_nn_indices");
    FixedGroupOptions options = of.options(drawn.size(0), false);
    options.gridsize = 1;
    for (const at::Tensor& groups : {fixed_groups(of.scan, options), drawn}) {
      ASSERT_EQ(groups.sizes(), drawn.sizes());
      EXPECT_EQ(static_cast<std::int64_t>(set_of(groups.t(), 0).size()), drawn.size(0));
    }
  });
}

// PtychoPINN's "relative" coordinates are our offsets with the other sign.
TEST(GoldenGroups, LieAroundPtychoPinnsCentres) {
  for_each_golden("g_grouping", [](const GoldenFile& golden) {
    const GoldenScan of(golden);
    const at::Tensor drawn = golden.array("draw_all_nn_indices").to(at::kLong);
    const at::Tensor centres = group_centres(of.positions, drawn);
    EXPECT_TRUE(agrees(centres.unsqueeze(1), golden.offsets("coords_offsets"), 0, 1e-15));
    const at::Tensor members =
        of.positions.index_select(0, drawn.view(-1)).view({drawn.size(0), -1, 2});
    EXPECT_TRUE(at::equal(members, golden.offsets("coords_nn")));
    EXPECT_TRUE(
        agrees(centres.unsqueeze(1) - members, golden.offsets("coords_relative"), 0, 1e-14));
  });
}

TEST(GoldenTruth, IsCutAtThePatternsPosition) {
  for_each_golden("g_gt_patches_gs1", [](const GoldenFile& golden) {
    const std::int64_t size = golden.integer("N");
    // The frame of zeros that PtychoPINN puts around its object moves every corner by N / 2.
    const at::Tensor object =
        at::constant_pad_nd(golden.array("objectGuess"), {size / 2, size / 2, size / 2, size / 2});
    const at::Tensor corners = golden.array("positions_xy").flip(1).to(at::kDouble);
    EXPECT_TRUE(agrees(extract_patches(object, corners, size), golden.array("patches")));
  });
}

// The fault BUG_Y_patches: for gridsize > 1 PtychoPINN cuts at the group's mirror image of the
// position.
TEST(GoldenTruth, IsMirroredAboutTheGroupInPtychoPinnButNotHere) {
  for_each_golden("g_grouping", [](const GoldenFile& golden) {
    const GoldenScan of(golden);
    const std::int64_t size = golden.integer("N");
    const at::Tensor fault =
        golden.array("BUG_Y_patches_first4").permute({0, 3, 1, 2}).flatten(0, 1);
    const at::Tensor drawn = golden.array("draw_all_nn_indices").to(at::kLong).slice(0, 0, 4);
    const at::Tensor members = of.positions.index_select(0, drawn.reshape(-1));
    const at::Tensor centres =
        group_centres(of.positions, drawn).repeat_interleave(drawn.size(1), 0);
    const auto cut = [&](const at::Tensor& places) {
      return extract_patches(golden.array("objectGuess"), places - static_cast<double>(size / 2),
                             size);
    };
    EXPECT_TRUE(agrees(cut(2 * centres - members), fault));
    EXPECT_FALSE(agrees(cut(members), fault, 1e-2, 1e-2));
  });
}

}  // namespace
}  // namespace ptyche
