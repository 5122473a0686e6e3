// Shadow images: taken for far-field patterns they are refused with what to type; as near-field
// scans their positions are examined.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "ptyche/prepare/examine.h"
#include "tests/prepare/faulty_scans.h"

namespace ptyche {
namespace {

constexpr double kWavelength_m = 1e-10, kPixel_m = 1e-6;

/// Light from edge to edge of 64 x 64 pixels of a micrometre; `fresnel` is wavelength * distance
/// over the square of the sample's pixel.
SimulateOptions near_options(double fresnel, double magnified = 1) {
  SimulateOptions options;
  options.frames = 64;
  options.step_px = 6;
  options.photons = 1e6;
  options.amplitude_min = 0.8;
  options.seed = 3;
  const double pixel_m = kPixel_m / magnified;
  const double distance_m = magnified * fresnel * pixel_m * pixel_m / kWavelength_m;
  options.geometry = {.energy_ev = kHcInEvM / kWavelength_m,
                      .distance_m = distance_m,
                      .detector_pixel_m = kPixel_m,
                      .near_field = true,
                      .source_distance_m = magnified > 1 ? distance_m / (magnified - 1) : 0};
  return options;
}

/// What it gives under light of the whole field's width.
Scan near_scan(const SimulateOptions& options) {
  ScanFields fields = simulate(options).fields();
  const at::Tensor axis = (at::arange(64, at::kDouble) - 32).square() / (2 * 40 * 40);
  fields.probe = (-(axis.unsqueeze(1) + axis)).exp().unsqueeze(0).to(at::kComplexFloat);
  return simulate_like(Scan(std::move(fields)), options);
}

/// It, as a file gives it that says nothing of the near field: positions in the far field's pixels.
Scan taken_for_far(const Scan& scan) {
  ScanFields fields = fields_of(scan);
  Geometry& geometry = fields.geometry;
  const double before = geometry.object_pixel_m;
  geometry.near_field = false;
  geometry.source_distance_m = 0;
  geometry.object_pixel_m = far_field_object_pixel_m(geometry, scan.pattern_size());
  fields.positions = fields.positions * (before / geometry.object_pixel_m);
  return without_probe(Scan(fields));
}

const Finding& first_finding(const Diagnosis& diagnosis) { return diagnosis.findings.at(0); }

TEST(NearFieldScan, TakenForAFarFieldOneIsRefusedWithWhatToType) {
  for (const double fresnel : {4., 10., 25.}) {
    Diagnosis diagnosis = examine(taken_for_far(near_scan(near_options(fresnel))));
    ASSERT_TRUE(diagnosis.has(Level::refuse)) << fresnel;
    EXPECT_EQ(first_finding(diagnosis).cause, "patterns: near field") << fresnel;
    EXPECT_NE(first_finding(diagnosis).text.find("--near-field"), std::string::npos);
    EXPECT_EQ(first_finding(diagnosis).text.find("--source-distance"), std::string::npos);
    EXPECT_NEAR(diagnosis.numbers["lit_shadow_gain"], fresnel / 64, 0.1 * fresnel / 64);
  }
}

TEST(NearFieldScan, OfAMagnifiedSampleIsRefusedWithTheDistanceOfItsFocus) {
  const SimulateOptions options = near_options(16, 9);
  const std::string text = first_finding(examine(taken_for_far(near_scan(options)))).text;
  const std::string option = "--source-distance ";
  ASSERT_NE(text.find(option), std::string::npos) << text;
  const double found = std::stod(text.substr(text.find(option) + option.size()));
  EXPECT_NEAR(found / options.geometry.source_distance_m, 1, 0.12);
}

TEST(NearFieldScan, WithStepsWiderThanTheFarFieldsWindowIsNoMatterOfUnits) {
  SimulateOptions options = near_options(4);
  options.object = "random-field";
  options.phase_range_rad = 0;  // nothing to be seen
  options.amplitude_min = 1;
  const Diagnosis diagnosis = examine(taken_for_far(near_scan(options)));
  EXPECT_EQ(first_finding(diagnosis).cause, "patterns: near field, or positions: unit");
  EXPECT_EQ(first_finding(diagnosis).level, Level::refuse);
}

TEST(NearFieldScan, SaidToBeOneHasNoFindings) {
  for (const double magnified : {1., 9.})
    EXPECT_EQ(causes_above_a_note(examine(near_scan(near_options(10, magnified)))), "");
}

TEST(NearFieldScan, WithTurnedPositionsIsTurnedBack) {
  const Scan right = near_scan(near_options(10));
  const double turns[][4] = {{-1, 0, 0, 1}, {0, 1, 1, 0}, {-1, 0, 0, -1}, {0, 1, -1, 0}};
  for (const auto& m : turns) {
    const Treatment treatment = treat(turned(right, m[0], m[1], m[2], m[3]));
    ASSERT_EQ(treatment.done.size(), 1U);
    EXPECT_LT(apart(treatment.scan.positions(), right.positions()), 1e-9)
        << treatment.done[0].cause;
  }
}

TEST(NearFieldScan, OfAnotherFocusIsRefusedWithItsDistance) {
  const SimulateOptions options = near_options(10, 3);
  ScanFields fields = fields_of(near_scan(options));
  fields.geometry.source_distance_m = 0;
  fields.positions = fields.positions / 3;  // the same metres in pixels of the detector
  fields.geometry.object_pixel_m = kPixel_m;
  const Diagnosis diagnosis = examine(Scan(fields));
  EXPECT_EQ(first_finding(diagnosis).cause, "near field: scale");
  const std::string text = first_finding(diagnosis).text, option = "--source-distance ";
  ASSERT_NE(text.find(option), std::string::npos) << text;
  EXPECT_NEAR(std::stod(text.substr(text.find(option) + option.size())) /
                  options.geometry.source_distance_m,
              1, 0.15);
}

TEST(FarFieldScan, WhoseShadowsFillTheDetectorIsNotTakenForANearFieldOne) {
  // To its edges, and beyond its corners.
  for (const auto& [radius, wide] : {std::pair{30., 24.}, std::pair{46., 46.}}) {
    Diagnosis diagnosis = examine(measured(lens_of(radius, wide), good_scan().truth()));
    EXPECT_FALSE(diagnosis.has("patterns: near field")) << radius;
    EXPECT_TRUE(radius != 30 || diagnosis.numbers["shadow_seen"] == 1);
  }
}

}  // namespace
}  // namespace ptyche
