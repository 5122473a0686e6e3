// Orientation and scale of positions whose probe casts no shadow.
#include "ptyche/prepare/position_search.h"

#include <gtest/gtest.h>

#include "ptyche/prepare/examine.h"
#include "ptyche/prepare/first_probe.h"
#include "tests/prepare/faulty_scans.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

/// A disc in focus: the doctor is silent on what is done to its positions.
const Scan& scan_in_focus() {
  static const Scan scan = simulate({.probe = "disk",
                                     .frames = 60,
                                     .step_px = 8,
                                     .photons = 2e4,
                                     .phase_range_rad = 4,
                                     .seed = 5});
  return scan;
}

FirstProbe prepared(const Scan& scan, const KeepProbe& keep = {},
                    const ExamineOptions& options = {}) {
  return with_first_probe(scan, {}, keep, options);
}

/// Distance from the right positions, or from the twin's, which no pattern tells from them.
double apart_but_for_the_twin(const at::Tensor& found, const at::Tensor& right) {
  return std::min(apart(found, right), apart(-found, right));
}

TEST(PositionSearch, TurnsBackWhatNoShadowTells) {
  const Scan& scan = scan_in_focus();
  for (const Scan& wrong : {turned(scan, -1, 0, 0, 1), turned(scan, 0, 1, -1, 0)}) {
    const FirstProbe first = prepared(wrong);
    ASSERT_TRUE(first.turn);
    EXPECT_LT(apart_but_for_the_twin(first.scan.positions(), scan.positions()), 1e-9);
  }
}

TEST(PositionSearchSlow, WithoutAProbeEachOrientationHasASearchOfItsOwn) {
  const Scan right = simulate({.probe = "defocused",
                               .pattern_size = 32,
                               .frames = 100,
                               .step_px = 4,
                               .photons = 1e5,
                               .phase_range_rad = 3,
                               .probe_diameter_px = 12,
                               .seed = 8});
  const Scan wrong = without_probe(turned(right, 0, 1, -1, 0));
  EXPECT_FALSE(finding_of(try_positions(wrong), {})) << "a probe made up at wrong positions tells";
  const FirstProbe first = prepared(wrong);
  ASSERT_TRUE(first.turn);
  EXPECT_LT(apart_but_for_the_twin(first.scan.positions(), right.positions()), 1e-9);
  EXPECT_GT(first.found->fit.explained(), kMostlyExplained);
}

TEST(PositionSearch, BringsBackPositionsThatAreTwiceTooFarApart) {
  const FirstProbe first = prepared(turned(scan_in_focus(), 2, 0, 0, 2));
  EXPECT_LT(apart(first.scan.positions(), scan_in_focus().positions()), 1e-9);
}

TEST(PositionSearchSlow, LeavesRightPositionsAndThoseThatFitNothing) {
  EXPECT_FALSE(prepared(scan_in_focus()).turn);
  ScanFields fields = fields_of(scan_in_focus());
  at::manual_seed(3);
  fields.positions = fields.positions.index_select(0, at::randperm(60)).contiguous();
  const Scan shuffled(fields);
  EXPECT_FALSE(finding_of(try_positions(shuffled), {}));
  EXPECT_FALSE(prepared(shuffled).turn);
}

/// A trial that explains this share of what the mean pattern leaves.
PositionTrial trial(double explained) {
  return {"so far apart", std::nullopt, {.deviance = 1 - explained, .noise = 0, .mean_pattern = 1}};
}

/// Patterns that are hardly more than shifts by a smooth phase's slope are explained at every
/// scale.
TEST(PositionSearch, TakesAScaleOnlyWhereItStandsOutAmongThoseBesideIt) {
  const TurnPositions half{{{0.5, 0}, {0, 0.5}}}, third{{{0.35, 0}, {0, 0.35}}};
  PositionTrial other = trial(.72), smaller = trial(.75);
  other.change = half;
  smaller.change = third;
  smaller.beside = true;
  EXPECT_TRUE(finding_of({trial(.05), other}, {}));
  EXPECT_FALSE(finding_of({trial(.05), other, smaller}, {})) << "another one explains as much";
  smaller.fit = trial(.95).fit;
  EXPECT_FALSE(finding_of({trial(.05), other, smaller}, {})) << "what is beside it is never taken";
  smaller.fit = trial(.4).fit;
  EXPECT_TRUE(finding_of({trial(.05), other, smaller}, {}));
}

/// A probe in focus explains as much with both axes flipped besides; curved light does not.
TEST(PositionSearch, SaysWhichAxisIsFlippedOnlyWhereTheProbeTells) {
  PositionTrial rows = trial(.72), columns = trial(.71);
  rows.what = "one axis flipped";
  rows.change = TurnPositions{{{-1, 0}, {0, 1}}};
  columns.what = "the other one";
  columns.change = TurnPositions{{{1, 0}, {0, -1}}};
  const auto alike = finding_of({trial(.05), rows, columns}, {});
  ASSERT_TRUE(alike);
  EXPECT_EQ(alike->cause, "positions: one axis flipped");
  EXPECT_NE(alike->text.find("turned by 180 degrees"), std::string::npos) << alike->text;
  columns.fit = trial(.95).fit;
  const auto told = finding_of({trial(.05), rows, columns}, {});
  ASSERT_TRUE(told);
  EXPECT_EQ(told->cause, "positions: columns flipped");
  EXPECT_EQ(told->text.find("turned by 180 degrees"), std::string::npos) << told->text;
  EXPECT_EQ(std::get<TurnPositions>(*told->remedy).matrix[1][1], -1);
}

TEST(PositionSearch, DoubtsTheSignOfTheDefocusWhereTheFilesProbeFitsOnlyTheTwin) {
  PositionTrial twin = trial(.65);
  twin.change = TurnPositions{{{-1, 0}, {0, -1}}};
  const auto finding = scale_finding({trial(.7), trial(-2), twin, trial(.1)});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->cause, "positions: both axes flipped, or the sign of the defocus");
  EXPECT_FALSE(scale_finding({trial(.7), trial(.6), twin, trial(.1)})) << "as good as given";
}

TEST(PositionSearch, DoubtsTheScaleWhereTheFilesProbeFitsOnlyAnotherOne) {
  PositionTrial closer = trial(.65);
  closer.change = TurnPositions{{{1.3, 0}, {0, 1.3}}};
  const auto finding = scale_finding({trial(.7), trial(-2), trial(.1), closer});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->level, Level::warn);
  EXPECT_EQ(finding->cause, "positions: scale, or the defocus");
  EXPECT_NE(finding->text.find("65 %"), std::string::npos) << finding->text;
  EXPECT_FALSE(scale_finding({trial(.7), trial(.6), trial(.1), trial(.65)})) << "as good as given";
  EXPECT_FALSE(scale_finding({trial(.9), trial(-2), trial(.1), trial(.65)})) << "found one better";
  EXPECT_TRUE(scale_finding({trial(.94), trial(.92), trial(.1), trial(.99)})) << "far less is left";
  EXPECT_FALSE(scale_finding({trial(.89), trial(.89), trial(.1), trial(1.03)})) << "noise";
  EXPECT_TRUE(scale_finding({trial(.67), trial(.67), trial(.1), trial(1.02)})) << "beyond noise";
  EXPECT_FALSE(scale_finding({trial(.3), trial(-2), trial(.1), trial(.25)})) << "hardly anything";
}

/// Curved light, whose defocus stands for 1.4 times the scale.
TEST(PositionSearch, WarnsOfPositionsThatAreTooFarApartForTheProbeOfTheFile) {
  const Scan right = simulate({.probe = "defocused",
                               .frames = 80,
                               .step_px = 6,
                               .photons = 1e6,
                               .phase_range_rad = 2,
                               .seed = 5});
  EXPECT_TRUE(prepared(right).doubt.empty());
  const TestFolder folder;
  const KeepProbe keep{.file = folder / "probe.h5", .resume = true};
  const Scan wrong = turned(right, 1.4, 0, 0, 1.4);
  const std::string doubt = prepared(wrong, keep).doubt;
  EXPECT_NE(doubt.find("positions: scale, or the defocus"), std::string::npos) << doubt;
  EXPECT_EQ(prepared(wrong, keep).doubt, doubt) << "kept for a run that goes on";
}

TEST(PositionSearchSlow, DoesNotActAgainstAnOption) {
  const Scan wrong = turned(scan_in_focus(), -1, 0, 0, 1);
  EXPECT_FALSE(prepared(wrong, {}, {.given = {"flip-y"}}).turn);
  const auto finding = finding_of(try_positions(wrong), {.given = {"flip-y"}});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->cause, "positions: one axis flipped");
  EXPECT_EQ(finding->level, Level::warn);
}

TEST(PositionSearch, AScanIsTurnedAsItWasForAnImageOfIt) {
  const Scan& scan = scan_in_focus();
  const at::Tensor given = scan.positions();
  for (const TurnPositions& turn :
       {TurnPositions{{{0, 1}, {-1, 0}}}, TurnPositions{{{0.5, 0}, {0, 0.5}}},
        TurnPositions{{{0.8, 0.6}, {-0.6, 0.8}}}, TurnPositions{{{-0.6, 0.8}, {0.8, 0.6}}}}) {
    const at::Tensor of_image = turned_positions(given, turn);
    EXPECT_LT(apart(turned_like(scan, of_image + 0.3).positions(), of_image), 1e-9);
  }
  EXPECT_TRUE(at::equal(turned_like(scan, given + 0.3).positions(), given));
  EXPECT_TRUE(at::equal(turned_like(scan, given.slice(0, 1)).positions(), given));
}

TEST(PositionSearch, IsNotRepeatedByAResumedRun) {
  const TestFolder folder;
  const Scan wrong = turned(scan_in_focus(), 0, 1, 1, 0);
  const FirstProbe first = prepared(wrong, {.file = folder / "first.h5"});
  const FirstProbe again = prepared(wrong, {.file = folder / "first.h5", .resume = true});
  EXPECT_TRUE(at::equal(again.scan.positions(), first.scan.positions()));
  EXPECT_TRUE(at::equal(again.scan.probe(), first.scan.probe()));
  EXPECT_EQ(again.seconds, first.seconds);
}

}  // namespace
}  // namespace ptyche
