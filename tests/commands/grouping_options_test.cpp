#include <gtest/gtest.h>

#include "ptyche/commands/describe.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/parse.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

GroupingChoices parsed_grouping(const std::vector<std::string>& words) {
  GroupingChoices choices;
  Command command;
  command.name = "sample";
  command.options = fields(choices);
  parse(command, words);
  return choices;
}

std::string fact(const std::vector<Fact>& facts, const std::string& name) {
  for (const Fact& one : facts)
    if (one.name == name) return one.value;
  return "";
}

TEST(GroupingOptions, AreTheOriginalsByTheirNamesThere) {
  const GroupingChoices choices = parsed_grouping(
      {"--gridsize", "2", "--n_groups", "256", "--neighbor_count", "7", "--enable_oversampling",
       "--neighbor_pool_size", "9", "--sequential_sampling", "--n_subsample", "100",
       "--subsample_seed", "3", "--grouping", "ptychopinn"});
  const FixedGroupOptions groups = choices.resolved_groups(11);
  EXPECT_EQ(groups.gridsize, 2);
  EXPECT_EQ(groups.count, 256);
  EXPECT_EQ(groups.neighbours, 7);
  EXPECT_EQ(groups.neighbour_pool, 9);
  EXPECT_TRUE(groups.oversampling && groups.sequential);
  EXPECT_FALSE(groups.own_seed);
  EXPECT_EQ(groups.seed, 11u);
  const SubsampleOptions subsample = choices.resolved_subsample();
  EXPECT_EQ(subsample.count, 100);
  EXPECT_EQ(subsample.seed, 3u);
  EXPECT_TRUE(subsample.first);
}

TEST(GroupingOptions, PutTheSeedIntoItsGroupUnlessToldOtherwise) {
  EXPECT_TRUE(parsed_grouping({}).resolved_groups(1).own_seed);
}

TEST(DescribeGroups, NamesShapeCoverageAndThreeOverlaps) {
  const auto facts = describe_groups(small_scan(200), {.gridsize = 2});
  EXPECT_EQ(fact(facts, "groups"), "(50, 4) patterns of (16, 16) px");
  EXPECT_NE(fact(facts, "patterns in groups").find(" of 200, each in "), std::string::npos);
  for (const char* name : {"overlap in groups", "overlap of neighbours", "overlap of groups"})
    EXPECT_NE(fact(facts, name).find(" % ("), std::string::npos) << name;
}

TEST(DescribeGroups, SaysThatSinglePatternsHaveNoOverlapInTheirGroup) {
  EXPECT_EQ(fact(describe_groups(small_scan(36), {}), "overlap in groups"), "none to compare");
}

}  // namespace
}  // namespace ptyche
