// Solvers whose object, probe and counts are on a device that is not the CPU.
#include "tests/support/second_device.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "ptyche/solve/solve.h"
#include "tests/support/plain_solver.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

double off_by(const at::Tensor& found, const at::Tensor& expected) {
  return ((found - expected).norm() / expected.norm()).item<double>();
}

class OnTheSecondDevice : public testing::TestWithParam<std::string> {};

/// A chain with everything that a solver may refine, by the reference engine.
SolverOptions everything(const std::string& solver) {
  SolverOptions options = plain({{solver, 4}}, PositionFreedom::affine, /*background=*/true);
  options.fixed_probe = false;
  options.modes = 2;
  options.max_amplitude = 1.5;
  options.probe_support = 1.2;
  options.intensities = IntensityFreedom::on;
  set_where_known(options, "engine", "reference");
  set_where_known(options, "amplitude-stiffness", "3");
  set_where_known(options, "absorption", "0.4");
  return options;
}

TEST_P(OnTheSecondDevice, ASolverFindsWhatItFindsOnTheCpu) {
  const Scan scan = small_scan();
  SolverOptions options = everything(GetParam());
  const Reconstruction here = solve(scan, {}, options).image;
  options.device = second_device();
  const Reconstruction found = solve(scan, {}, options).image;
  EXPECT_TRUE(found.object.is_cpu());
  EXPECT_LT(off_by(found.object, here.object), allowed(1e-6));
  EXPECT_LT(off_by(found.probe, here.probe), allowed(1e-5));
  EXPECT_LT(off_by(found.background, here.background), allowed(1e-5));
  EXPECT_LT((found.positions - here.positions).abs().max().item<double>(), allowed(1e-6));
  EXPECT_LT(off_by(found.intensities, here.intensities), allowed(1e-6));
}

TEST_P(OnTheSecondDevice, TheCountsGoThereOnce) {
  if (!counts_transfers()) GTEST_SKIP() << "transfers to a GPU are not counted";
  const Scan scan = small_scan();
  SolverOptions options = everything(GetParam());
  options.device = second_device();
  const auto there_in = [&](std::int64_t passes) {
    options.chain.front().epochs = passes;
    const TransferCounts before = transfers();
    solve(scan, {}, options);
    return transfers().there - before.there;
  };
  there_in(2);
  // What a pass sends is the order of its patterns, the projections one more for what else they
  // refine.
  EXPECT_LE(there_in(6) - there_in(2), 2 * 4);
}

TEST_P(OnTheSecondDevice, ARunGoesOnFromItsCheckpoint) {
  const Scan scan = small_scan();
  SolverOptions options = everything(GetParam());
  options.device = second_device();
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("ptyche device " + std::to_string(getpid()));
  const at::Tensor whole = solve(scan, {}, options).image.object;
  solve(scan, {}, options,
        {.stop = [](std::int64_t done) { return done == 2; }, .checkpoint = file});
  const SolveResult rest = solve(scan, {}, options, {.checkpoint = file, .resume = true});
  std::filesystem::remove(file);
  EXPECT_EQ(rest.end, ChainEnd::done);
  EXPECT_LT(off_by(rest.image.object, whole), allowed(1e-6));
}

INSTANTIATE_TEST_SUITE_P(Solvers, OnTheSecondDevice,
                         testing::Values("ml", "lsqml", "lbfgs", "rpie", "dm"),
                         [](const auto& info) { return info.param; });

/// On the CPU the fused kernels, there the reference engine: each checks the other, too.
struct ProjectionCase {
  const char* solver;
  Interpolation interpolation = Interpolation::probe_fourier;
  bool near_field = false;
};

class ProjectionOnTheSecondDevice : public testing::TestWithParam<ProjectionCase> {};

TEST_P(ProjectionOnTheSecondDevice, FindsWhatTheKernelsFind) {
  const auto [solver, interpolation, near_field] = GetParam();
  ScanFields fields = small_scan().fields();
  if (near_field) {
    fields.geometry = {.energy_ev = 8000, .distance_m = 2e-4, .detector_pixel_m = 1e-7};
    fields.geometry.near_field = true;
  }
  fields.mask = fields.mask.clone();
  fields.mask[3][5] = false;
  const Scan scan(fields);
  SolverOptions options = everything(solver);
  options.positions = PositionFreedom::none;  // its steps amplify rounding
  options.interpolation = interpolation;
  const Reconstruction here = solve(scan, {}, options).image;
  options.device = second_device();
  const Reconstruction found = solve(scan, {}, options).image;
  EXPECT_LT(off_by(found.object, here.object), allowed(1e-4));
  EXPECT_LT(off_by(found.probe, here.probe), allowed(1e-4));
}

INSTANTIATE_TEST_SUITE_P(
    All, ProjectionOnTheSecondDevice,
    testing::Values(ProjectionCase{"rpie"}, ProjectionCase{"rpie", Interpolation::bilinear},
                    ProjectionCase{"epie"}, ProjectionCase{"dm"},
                    ProjectionCase{"dm", Interpolation::bilinear}, ProjectionCase{"raar"},
                    ProjectionCase{"raar", Interpolation::probe_fourier, true}));

}  // namespace
}  // namespace ptyche
