#include "ptyche/data/overlap.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptyche {
namespace {

at::Tensor line_of(std::int64_t count, double step) {
  at::Tensor positions = at::zeros({count, 2}, at::kDouble);
  positions.select(1, 1).copy_(step * at::arange(count, at::kDouble));
  return positions;
}

TEST(MedianStep, IsTheDistanceOfNeighboursHoweverManyThereAre) {
  for (const std::int64_t count : {2, 7, 2000, 5001})
    EXPECT_DOUBLE_EQ(median_step_px(line_of(count, 3)), 3) << count;
  EXPECT_EQ(median_step_px(line_of(1, 3)), 0);
}

TEST(ProbeDiameter, HoldsNineTenthsOfADisc) {
  const at::Tensor axis = at::arange(64, at::kDouble) - 32;
  const at::Tensor radius = (axis.square().unsqueeze(1) + axis.square()).sqrt();
  const at::Tensor disc = radius.lt(20).to(at::kComplexFloat).unsqueeze(0);
  EXPECT_NEAR(probe_diameter_px(disc), 40 * std::sqrt(0.9), 1);
}

}  // namespace
}  // namespace ptyche
