#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/group/make_groups.h"

namespace ptyche {
namespace {

double of_discs(double distance, double diameter) {
  return disc_overlap(at::scalar_tensor(distance, at::kDouble), diameter).item<double>();
}

at::Tensor points(std::initializer_list<double> values) {
  return at::tensor(values, at::kDouble).view({-1, 2});
}

TEST(DiscOverlap, GoesFromOneToZeroAtOneDiameter) {
  EXPECT_DOUBLE_EQ(of_discs(0, 7), 1);
  EXPECT_NEAR(of_discs(3.5, 7), 2.0 / 3 - std::sqrt(3.0) / (2 * M_PI), 1e-12);  // 0.391
  EXPECT_EQ(of_discs(7, 7), 0);
  EXPECT_EQ(of_discs(100, 7), 0);
}

TEST(DiscOverlap, IsTheSharedAreaAsCountedOnAGrid) {
  const at::Tensor axis = at::arange(-150, 400, at::kDouble);
  const at::Tensor row2 = axis.square().unsqueeze(1);
  const at::Tensor here = (row2 + axis.square()).le(1e4);
  const at::Tensor there = (row2 + (axis - 60).square()).le(1e4);
  const double both = (here * there).sum().item<double>() / here.sum().item<double>();
  EXPECT_NEAR(of_discs(60, 200), both, 2e-3);
}

TEST(GroupOverlap, OfASquareIsTheMeanOfItsSidesAndDiagonals) {
  const at::Tensor square = points({0, 0, 0, 3, 3, 0, 3, 3});
  const at::Tensor group = at::arange(4).unsqueeze(0);
  const double expected = (4 * of_discs(3, 8) + 2 * of_discs(3 * std::sqrt(2), 8)) / 6;
  const GroupOverlap overlap = group_overlap(square, group, 8);
  EXPECT_NEAR(overlap.in_groups.value(), expected, 1e-12);
  EXPECT_NEAR(overlap.of_neighbours.value(), expected, 1e-12);  // the 3 others are all there are
  EXPECT_FALSE(overlap.of_groups.has_value());
}

TEST(GroupOverlap, ComparesGroupsByTheirCentres) {
  const at::Tensor positions = points({0, 0, 0, 100, 2, 0, 2, 100});
  const at::Tensor groups = at::tensor({0, 1, 2, 3}, at::kLong).view({2, 2});
  const GroupOverlap overlap = group_overlap(positions, groups, 10);
  EXPECT_EQ(overlap.in_groups.value(), 0);
  EXPECT_NEAR(overlap.of_groups.value(), of_discs(2, 10), 1e-12);
}

TEST(GroupOverlap, ComparesAPatternWithItsSixNearest) {
  // On a line with unit steps the middle pattern's six are 1, 1, 2, 2, 3, 3 away; the far one is in
  // no group.
  at::Tensor positions = at::zeros({8, 2}, at::kDouble);
  positions.select(1, 1).copy_(at::arange(8, at::kDouble));
  positions[7][1] = 1000;
  double sum = 0;
  for (int one = 0; one < 7; ++one)
    for (int other = 0; other < 7; ++other)
      if (one != other) sum += of_discs(std::abs(one - other), 5);
  const GroupOverlap overlap = group_overlap(positions, at::arange(7).unsqueeze(1), 5);
  EXPECT_NEAR(overlap.of_neighbours.value(), sum / 42, 1e-12);
}

TEST(GroupOverlap, OfCoincidingPatternsIsOne) {
  const at::Tensor positions = at::zeros({20, 2}, at::kDouble);
  const GroupOverlap overlap = group_overlap(positions, at::arange(20).view({10, 2}), 5);
  EXPECT_DOUBLE_EQ(overlap.in_groups.value(), 1);
  EXPECT_DOUBLE_EQ(overlap.of_neighbours.value(), 1);
  EXPECT_DOUBLE_EQ(overlap.of_groups.value(), 1);
}

TEST(GroupOverlap, IsEmptyWhereThereIsNothingToCompare) {
  const GroupOverlap overlap = group_overlap(points({0, 0}), at::zeros({1, 1}, at::kLong), 5);
  EXPECT_FALSE(overlap.in_groups || overlap.of_neighbours || overlap.of_groups);
}

}  // namespace
}  // namespace ptyche
