#include "ptyche/data/scores.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ptyche {
namespace {

DataFit with_floor(double r_factor_floor) {
  return {.frames = 9, .r_factor_floor = r_factor_floor};
}

TrivialFit with_guesses(double mean_amplitude, double mean_pattern) {
  return {.r_factor = mean_amplitude, .mean_pattern_r_factor = mean_pattern};
}

TEST(RFactorTells, WhereTheBetterGuessLeavesClearlyMoreThanNoiseAlone) {
  EXPECT_TRUE(r_factor_tells(with_floor(0.045), with_guesses(0.205, 0.22)));  // a measured star
  EXPECT_FALSE(r_factor_tells(with_floor(0.245), with_guesses(0.107, 0.131)));
  EXPECT_FALSE(r_factor_tells(with_floor(0.2), with_guesses(0.5, 0.21)));
  EXPECT_TRUE(r_factor_tells(with_floor(0.2), with_guesses(0.5, 0.3)));
  EXPECT_TRUE(r_factor_tells(with_floor(0.2), std::nullopt));
}

TEST(RFactorTells, IsAmongTheScoresOfHeldOutPatterns) {
  Scores scores;
  scores.held_out = with_floor(0.2);
  scores.trivial = with_guesses(0.19, 0.3);
  const std::vector<NamedScore> list = named_scores(scores);
  const auto tells = std::ranges::find(list, "held_out.r_factor_tells", &NamedScore::name);
  ASSERT_NE(tells, list.end());
  EXPECT_EQ(tells->value, 0);
}

}  // namespace
}  // namespace ptyche
