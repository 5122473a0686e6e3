// Which way positions lie by what all patterns agree on, where no solve and no shadow tells.
#include "ptyche/prepare/orientation_energy.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ptyche/prepare/first_probe.h"
#include "ptyche/prepare/position_search.h"
#include "tests/prepare/faulty_scans.h"

namespace ptyche {
namespace {

/// A weak sample in little light, by a lens so far out of focus (0 = in focus, a small spot).
Scan weak(double defocus) {
  return without_probe(simulate({.object = "dead-leaves",
                                 .probe = "defocused",
                                 .frames = 150,
                                 .step_px = defocus == 0 ? 1.5 : 4,
                                 .photons = 1e4,
                                 .amplitude_min = 0.97,
                                 .phase_range_rad = 0.4,
                                 .defocus = defocus,
                                 .seed = 7}));
}

struct Turned {
  Orientation turn;
  double row_row, row_col, col_row, col_col;
};
constexpr Turned kTurned[] = {{Orientation::as_given, 1, 0, 0, 1},
                              {Orientation::one_flipped, -1, 0, 0, 1},
                              {Orientation::swapped, 0, 1, 1, 0},
                              {Orientation::turned, 0, -1, 1, 0}};

Scan turned_as(const Scan& scan, const Turned& by) {
  return turned(scan, by.row_row, by.row_col, by.col_row, by.col_col);
}

TEST(OrientationEnergy, TellsHowTheAxesOfWeakSamplesInLittleLightLie) {
  for (const double defocus : {0., 1.}) {
    const Scan right = weak(defocus);
    for (const Turned& each : kTurned) {
      const auto energies = orientation_energies(turned_as(right, each));
      EXPECT_TRUE(stands_out(energies))
          << defocus << ": " << energies[0].strength << ", next " << energies[1].strength;
      EXPECT_EQ(energies[0].orientation, each.turn) << defocus;
    }
  }
}

TEST(OrientationEnergy, LooksAtHeldOutPatternsToo) {
  const Scan all = weak(0);
  ScanFields fields = fields_of(all);
  fields.frame_use = fields.frame_use.clone();
  fields.frame_use.slice(0, 3, {}, 8).fill_(static_cast<int>(FrameUse::held_out));
  const auto some = orientation_energies(Scan(fields)), whole = orientation_energies(all);
  EXPECT_EQ(some[0].strength, whole[0].strength);
  fields.frame_use.slice(0, 3, {}, 8).fill_(static_cast<int>(FrameUse::rejected));
  EXPECT_NE(orientation_energies(Scan(fields))[0].strength, whole[0].strength);
}

TEST(OrientationEnergy, OfBothAxesFlippedIsThatOfTheOppositeDefocus) {
  const Scan right = weak(1);
  const auto one = orientation_energies(right),
             twin = orientation_energies(turned(right, -1, 0, 0, -1));
  EXPECT_GT(std::abs(one[0].defocus), 2);
  EXPECT_NEAR(twin[0].defocus, -one[0].defocus, 1.01) << "a step apart, for places are rounded";
  EXPECT_NEAR(twin[0].strength / one[0].strength, 1, 0.3);
}

TEST(OrientationEnergy, OfPatternsThatHaveNothingToDoWithTheirPlacesDoesNotStandOut) {
  for (const double defocus : {0., 1.}) {
    ScanFields fields = fields_of(weak(defocus));
    at::manual_seed(3);
    fields.positions = fields.positions.index_select(0, at::randperm(150)).contiguous();
    const auto energies = orientation_energies(Scan(fields));
    EXPECT_FALSE(stands_out(energies)) << defocus << ": " << energies[0].strength;
    EXPECT_LT(energies[0].strength, 6) << defocus;
  }
}

TEST(OrientationEnergy, OfPatternsThatDoNotOverlapIsNone) {
  const auto energies = orientation_energies(turned(weak(0), 500, 0, 0, 500));
  EXPECT_EQ(energies[0].strength, 0);
  EXPECT_FALSE(stands_out(energies));
}

TEST(OrientationEnergy, IsTheSameOnAnyNumberOfThreads) {
  const Scan scan = weak(1);
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const auto one = orientation_energies(scan);
  at::set_num_threads(3);
  const auto other = orientation_energies(scan);
  at::set_num_threads(before);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].orientation, other[i].orientation);
    EXPECT_EQ(one[i].strength, other[i].strength);
  }
}

TEST(OrientationEnergy, IsOnlyWarnedOfAgainstAnOption) {
  const auto energies = orientation_energies(turned_as(weak(0), kTurned[1]));
  const auto mended = finding_of(energies, ExamineOptions{});
  ASSERT_TRUE(mended);
  EXPECT_EQ(mended->cause, "positions: one axis flipped");
  EXPECT_TRUE(mended->remedy);
  const auto warned = finding_of(energies, {.given = {"flip-y"}});
  ASSERT_TRUE(warned);
  EXPECT_EQ(warned->level, Level::warn);
  EXPECT_FALSE(warned->remedy);
}

TEST(OrientationEnergy, MustLeadClearly) {
  const auto two = [](double first, double second) {
    return std::vector<OrientationEnergy>{{Orientation::swapped, first},
                                          {Orientation::as_given, second}};
  };
  EXPECT_TRUE(stands_out(two(12, 3)));
  EXPECT_TRUE(finding_of(two(12, 3), ExamineOptions{}));
  EXPECT_FALSE(stands_out(two(40, 30))) << "the other one is nearly as strong";
  EXPECT_FALSE(stands_out(two(8, 4))) << "no more apart than noise";
  EXPECT_FALSE(stands_out(two(5, 0))) << "as much as noise comes to";
  EXPECT_FALSE(finding_of(two(5, 0), ExamineOptions{}));
}

/// What a search leaves where the mean pattern leaves so much, noise 1.
HeldOutFit leaves(double deviance, double mean_pattern) {
  return {.deviance = deviance, .noise = 1, .mean_pattern = mean_pattern};
}

TEST(OrientationEnergy, MustNotBeContradictedByASearchThatCouldTell) {
  EXPECT_TRUE(bears_out(leaves(2, 4), leaves(3, 4)));
  EXPECT_FALSE(bears_out(leaves(3, 4), leaves(2, 4))) << "those given explain more";
  EXPECT_FALSE(bears_out(leaves(4.5, 4), leaves(5, 4))) << "nothing is explained, of much";
  EXPECT_TRUE(bears_out(leaves(1.3, 1.2), leaves(1.4, 1.2))) << "nothing is explained, of little";
  EXPECT_TRUE(bears_out(leaves(1.3, 1.05), leaves(1.1, 1.05))) << "too few photons to tell";
}

TEST(OrientationEnergySlow, TurnsBackAScanOfWhichTheSearchExplainsLittle) {
  const Scan right = weak(0);
  const FirstProbe undamaged = with_first_probe(right, {}, {}, ExamineOptions{});
  EXPECT_FALSE(undamaged.turn);
  EXPECT_FALSE(undamaged.found->sure) << "else nothing here is asked";
  const FirstProbe first = with_first_probe(turned_as(right, kTurned[1]), {}, {}, ExamineOptions{});
  ASSERT_TRUE(first.turn);
  const at::Tensor found = first.scan.positions();
  EXPECT_LT(std::min(apart(found, right.positions()), apart(-found, right.positions())), 1e-9);
}

}  // namespace
}  // namespace ptyche
