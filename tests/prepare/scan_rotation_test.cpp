// The turn of a raster, out of patterns that were made with it.
#include "ptyche/prepare/scan_rotation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ptyche/core/files.h"
#include "ptyche/data/probe.h"
#include "ptyche/prepare/first_probe.h"
#include "ptyche/simulate/simulate.h"
#include "ptyche/storage/numpy.h"
#include "tests/prepare/faulty_scans.h"
#include "tests/prepare/turned_raster.h"
#include "tests/support/refusal.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

double degrees_apart(double a, double b) { return std::abs(std::remainder(a - b, 360)); }

/// Within a degree; with a whole turn of 180 the twin's is as good.
void expect_found(const ScanRotation& truth, double photons, double curvature,
                  double whole_turn = 360) {
  const Scan scan = turned_raster(truth, photons, curvature);
  const auto found = find_scan_rotation(scan, evidence_of(scan));
  ASSERT_TRUE(found.has_value()) << truth.degrees;
  EXPECT_GT(found->strength, 10) << truth.degrees;
  EXPECT_EQ(found->transposed, truth.transposed) << truth.degrees;
  EXPECT_LT(std::abs(std::remainder(found->degrees - truth.degrees, whole_turn)), 1)
      << truth.degrees << " found " << found->degrees;
}

TEST(ScanRotation, IsFoundWithinADegreeByTheDeflectionsOfMuchLight) {
  expect_found({.degrees = -165, .transposed = false}, 1e5, 60);
  expect_found({.degrees = 122.5, .transposed = true}, 1e5, 60);
}

/// Too few electrons for centres of mass, and for peaks against pits: the twin may come.
TEST(ScanRotation, IsFoundWithinADegreeOfFewElectronsByWhatAllPatternsSayOfThePhase) {
  for (const bool transposed : {false, true}) expect_found({33, transposed}, 300, 120, 180);
}

/// Peaks at the atoms or at the holes between them: a crystal's twin is a crystal.
void expect_as_given(int waves, double sign) {
  const Scan scan = without_probe(turned_raster({}, 1e5, 60, crystal(waves, sign)));
  const auto found = find_scan_rotation(scan, {.electrons = true});
  ASSERT_TRUE(found.has_value());
  EXPECT_LT(degrees_apart(found->degrees, 0), 1) << waves << " waves, sign " << sign;
  EXPECT_EQ(found->twin, TwinToldBy::nothing);
  EXPECT_NE(twin_in_words(*found).find("explain the patterns as well"), std::string::npos);
}

TEST(ScanRotation, OfAHoneycombThatLiesAsGivenIsNotTakenForTheTwins) { expect_as_given(3, -1); }

TEST(ScanRotationSlow, OfOtherCrystalsThatLieAsGivenIsNotTakenForTheTwins) {
  expect_as_given(3, 1);
  expect_as_given(2, 1);
}

TEST(ScanRotation, IsThatOfTheTwinWhoseDefocusHasTheSignOfTheKnownProbe) {
  const Scan scan = turned_raster({.degrees = -165}, 1e5);
  for (const auto& [probe, degrees] :
       {std::pair{beam(60), -165.0}, std::pair{twin_of_probe(beam(60)), 15.0}}) {
    const auto found = find_scan_rotation(scan, {.probe = probe});
    ASSERT_TRUE(found.has_value());
    EXPECT_LT(degrees_apart(found->degrees, degrees), 1);
    EXPECT_EQ(found->twin, TwinToldBy::probe);
  }
}

TEST(ScanRotationSlow, IsThatOfAtomsAsPeaksForElectronsAndElseTheSmallerOne) {
  const Scan scan = without_probe(turned_raster({.degrees = -165}, 1e5));
  const auto atoms = find_scan_rotation(scan, {.electrons = true});
  ASSERT_TRUE(atoms.has_value());
  EXPECT_LT(degrees_apart(atoms->degrees, -165), 1);
  EXPECT_EQ(atoms->twin, TwinToldBy::peaks);
  const auto unknown = find_scan_rotation(scan, {});
  ASSERT_TRUE(unknown.has_value());
  EXPECT_LT(degrees_apart(unknown->degrees, 15), 1);
  EXPECT_EQ(unknown->twin, TwinToldBy::nothing);
}

TEST(ScanRotation, IsNotFoundWhereTooFewElectronsSayNothing) {
  EXPECT_FALSE(find_scan_rotation(turned_raster({.degrees = 33}, 20), {}).has_value());
}

TEST(ScanRotation, IsNotFoundInNoiseAloneNorWithoutARaster) {
  const Scan scan = turned_raster({}, 1e5);
  ScanFields fields = scan.fields();
  const at::Tensor mean = scan.counts().to(at::kDouble).mean(0, true).expand(scan.counts().sizes());
  fields.counts =
      poisson_draws(mean, at::arange(scan.frames()), 5, Purpose::verdict).to(at::kFloat);
  EXPECT_FALSE(find_scan_rotation(Scan(fields), {}).has_value());
  EXPECT_FALSE(find_scan_rotation(with_raster_turned(scan, {.degrees = 20}), {}).has_value());
}

TEST(ScanRotationSlow, OfARasterOfWhichNobodySaysHowItLiesIsFoundBeforeASolve) {
  const TestFolder folder;
  const Scan scan = without_probe(turned_raster({.degrees = 25, .transposed = true}, 1e5));
  const KeepProbe keep{.file = folder / "first.h5"};
  const ExamineOptions raster{.given = {"scan-step"}};
  const FirstProbe first = with_first_probe(scan, {}, keep, raster);
  ASSERT_TRUE(first.turn);
  const at::Tensor right =
      with_raster_turned(scan, {.degrees = 25, .transposed = true}).positions();
  EXPECT_LT((first.scan.positions() - right).norm(2, 1).max().item<double>(), 1);
  const FirstProbe resumed =
      with_first_probe(scan, {}, {.file = keep.file, .resume = true}, raster);
  EXPECT_TRUE(at::equal(resumed.scan.positions(), first.scan.positions()));
  ASSERT_FALSE(first.remarks.empty());
  EXPECT_EQ(first.remarks.back().cause, "positions: raster turned");
  EXPECT_EQ(first.remarks.back().kind, Remark::Kind::correction);
  EXPECT_EQ(resumed.remarks, first.remarks);
  const ExamineOptions said{.given = {"scan-step", "scan-rotation"}};
  const FirstProbe left = with_first_probe(scan, {}, {}, said);
  EXPECT_FALSE(left.turn && std::abs(left.turn->matrix[0][0]) > 0.1 &&
               std::abs(left.turn->matrix[0][1]) > 0.1);
}

/// A stack of patterns alone, as a microscope leaves it.
ReadOptions stack_of(const at::Tensor& counts, const std::filesystem::path& file) {
  const at::Tensor values = counts.to(at::kFloat).contiguous();
  const auto* bytes = static_cast<const char*>(values.const_data_ptr());
  write_text(file, npy_header(values) + std::string(bytes, values.nbytes()));
  ReadOptions options;
  options.file = file;
  options.scan_shape = "14x14";
  options.scan_step_m = 1e-10;
  options.voltage_v = 3e5;
  options.semi_angle_rad = 0.02;
  options.scan_rotation = "auto";
  return options;
}

TEST(ScanRotation, AStackWithoutPositionsIsReadWithItsRasterTurned) {
  const TestFolder folder;
  const Scan scan = read_turned_scan(
      stack_of(turned_raster({.degrees = 33}, 1e5).counts(), folder / "stack.npy"));
  const at::Tensor along = scan.positions()[1] - scan.positions()[0];
  const double degrees =
      std::atan2(along[0].item<double>(), along[1].item<double>()) * 180 / std::numbers::pi;
  EXPECT_LT(degrees_apart(degrees, 33), 1);
}

TEST(ScanRotation, PatternsWithoutABrightDiskTellNoAngleOfAPixel) {
  const TestFolder folder;
  at::Tensor counts = at::zeros({kSide * kSide, kSize, kSize});
  counts.select(2, kSize / 2).select(1, kSize / 2).fill_(5);
  const std::string message =
      message_of([&] { read_turned_scan(stack_of(counts, folder / "dots.npy")); });
  EXPECT_NE(message.find("--semi-angle: expected patterns with a bright disk"), std::string::npos)
      << message;
}

}  // namespace
}  // namespace ptyche
