// Near-field scans through the solvers.
#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "ptyche/simulate/simulate.h"
#include "ptyche/solve/solve.h"
#include "tests/support/plain_solver.h"

namespace ptyche {
namespace {

/// 36 patterns of 32 x 32 pixels; the light has gone 10 Fresnel lengths of a pixel (pixel^2 /
/// wavelength).
SimulateOptions near_field_options() {
  SimulateOptions options;
  options.pattern_size = 32;
  options.frames = 36;
  options.step_px = 3;
  options.probe_diameter_px = 12;
  options.noise = false;
  options.geometry = {.energy_ev = 12398.4198433,  // 1e-10 m
                      .distance_m = 2.0,
                      .detector_pixel_m = 1e-5,
                      .near_field = true,
                      .source_distance_m = 0.5};
  return options;
}

Scan near_field_scan() { return simulate(near_field_options()); }

class NearFieldSolver : public testing::TestWithParam<const char*> {};

TEST_P(NearFieldSolver, ExplainsTheCountsFarBetterThanTheFlatObject) {
  const Scan scan = near_field_scan();
  SolverOptions options;
  options.chain = {{GetParam(), 30}};
  options.every = 1000;
  EXPECT_LT(r_factor(solve(scan, {}, options).image, scan), 0.3 * r_factor(flat(scan), scan));
}

TEST_P(NearFieldSolver, NeverLooksAtAMaskedPixel) {
  const auto image_with = [](int counts) {
    ScanFields fields = near_field_scan().fields();
    fields.mask = at::ones({32, 32}, at::kBool);
    fields.mask[5][11] = false;
    fields.counts = fields.counts.clone();
    fields.counts.select(1, 5).select(1, 11).fill_(counts);
    SolverOptions options;
    options.chain = {{GetParam(), 3}};
    return solve(Scan(fields), {}, options).image.object;
  };
  EXPECT_TRUE(at::equal(image_with(0), image_with(1000)));
}

INSTANTIATE_TEST_SUITE_P(Registry, NearFieldSolver,
                         testing::Values("epie", "rpie", "dm", "raar", "lsqml", "ml", "lbfgs"),
                         [](const auto& info) { return std::string(info.param); });

TEST(NearField, OfAnEmptySampleIsTheSameAtEveryPosition) {
  SimulateOptions options = near_field_options();
  options.amplitude_min = options.amplitude_max = 1;
  options.phase_range_rad = 0;
  const at::Tensor counts = simulate(options).counts();
  EXPECT_LT((counts - counts[0]).abs().max().item<double>(), 1e-5 * counts.max().item<double>());
}

TEST(NearField, PositionsAreFound) {
  SimulateOptions options = near_field_options();
  options.object = "random-field";
  options.frames = 64;
  options.photons = 1e7;
  options.position_error_px = 0.5;
  const Scan scan = simulate(options);
  SolverOptions how;
  how.chain = {{"ml", 80}};
  how.fixed_probe = true;
  how.positions = PositionFreedom::jitter;
  const at::Tensor found = solve(scan, {}, how).image.positions;
  const auto error = [&](const at::Tensor& positions) {
    const at::Tensor off = positions - scan.true_positions();
    return (off - off.mean(0)).square().mean().sqrt().item<double>();
  };
  EXPECT_LT(error(found), 0.4 * error(scan.positions()));
}

TEST(NearField, WithoutLengthsIsRefusedByTheirNames) {
  SimulateOptions options;
  options.geometry.near_field = true;
  try {
    simulate(options);
    FAIL() << "expected a refusal";
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find("--detector-pixel"), std::string::npos);
  }
}

}  // namespace
}  // namespace ptyche
