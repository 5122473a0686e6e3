#include "ptyche/ptychopinn/grid_data.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "ptyche/core/error.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/simulate/probes.h"
#include "ptyche/storage/numpy.h"
#include "tests/support/checks.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

GridDataOptions small_grid() {
  return {.grid = {.object_size = 40, .pattern_size = 16, .gridsize = 2, .outer_offset_px = 8},
          .nphotons = 1e6};
}

at::Tensor probe16() { return default_probe(16).to(at::kComplexDouble); }

// Numbers of patterns that PtychoPINN's workflow is known to give at its object size, 392.
TEST(GridScan, HasAsManyGroupsAsPtychoPinnsWorkflow) {
  struct Known {
    std::int64_t size, gridsize, outer, groups;
  };
  for (const Known known : {Known{64, 1, 8, 6889},
                            {64, 1, 20, 1089},
                            {64, 2, 8, 6724},
                            {64, 2, 20, 1089},
                            {128, 1, 8, 4489},
                            {128, 1, 20, 729},
                            {128, 2, 8, 4356},
                            {256, 1, 8, 1225},
                            {256, 1, 20, 196}}) {
    const at::Tensor corners = grid_scan_corners(
        {.pattern_size = known.size, .gridsize = known.gridsize, .outer_offset_px = known.outer});
    EXPECT_EQ(corners.sizes(), (at::IntArrayRef{known.groups, known.gridsize * known.gridsize, 2}));
    EXPECT_EQ(corners.min().item<std::int64_t>(), 0);
    EXPECT_LE(corners.max().item<std::int64_t>() + known.size, 392);
  }
}

TEST(GridScan, RunsRowByRowInsideAndBetweenGroups) {
  const at::Tensor corners = grid_scan_corners(
      {.object_size = 24, .pattern_size = 16, .gridsize = 2, .offset_px = 3, .outer_offset_px = 8});
  const at::Tensor expected =
      at::tensor({0, 0, 0, 3, 3, 0, 3, 3, 0, 4, 0, 7, 3, 4, 3, 7}, at::kLong);
  ASSERT_EQ(corners.size(0), 4);
  EXPECT_TRUE(at::equal(corners.narrow(0, 0, 2).flatten(), expected));
}

TEST(GridScan, RefusesWhatDoesNotFit) {
  EXPECT_THROW(grid_scan_corners({.object_size = 60, .pattern_size = 64}), InvalidInput);
  EXPECT_THROW(grid_scan_corners({.outer_offset_px = 7}), InvalidInput);
  EXPECT_THROW(grid_scan_corners({.gridsize = 0}), InvalidInput);
}

TEST(GridScales, GiveTheDoseInTheMeanAndLoseNoPhoton) {
  const GridScanOptions options{
      .object_size = 40, .pattern_size = 16, .gridsize = 2, .outer_offset_px = 8};
  const at::Tensor object = random_tensor({40, 40}, at::kComplexDouble, 1);
  const at::Tensor probe = random_tensor({16, 16}, at::kComplexDouble, 2);
  const at::Tensor corners = grid_scan_corners(options).view({-1, 2});
  const at::Tensor groups = at::arange(corners.size(0), at::kLong).view({-1, 4});
  const GridScales scales = grid_scales(object, probe, corners, groups, 1e5);
  const at::Tensor normal = object / scales.object_norm, lit_probe = scales.intensity * probe;
  const at::Tensor counts =
      predict_intensity(normal, lit_probe.unsqueeze(0), corners.to(at::kDouble) + 8,
                        Interpolation::probe_fourier, {})
          .sum({1, 2});
  EXPECT_NEAR(counts.mean().item<double>(), 1e5, 1e-4);
  const at::Tensor patches = extract_patches(normal, corners.to(at::kDouble), 16);
  EXPECT_LT(relative_difference(counts, (patches * lit_probe).abs().square().sum({1, 2})), 1e-12);
  EXPECT_THROW(grid_scales(object, probe, corners + 30, groups, 1e5), InvalidInput);
  EXPECT_THROW(grid_scales(object * 0, probe, corners, groups, 1e5), InvalidInput);
}

TEST(GridData, HoldsEveryPatternOnceWhicheverGroupsItIsIn) {
  const GridData data = simulate_grid_data(small_grid(), probe16());
  EXPECT_EQ(data.groups.sizes(), (std::vector<std::int64_t>{2 * 36, 4}));
  // 6 + 1 places along each side of each drawing.
  EXPECT_EQ(data.scan.frames(), 2 * 49);
}

TEST(GridData, PutsTheGroupsWherePtychoPinnPutsThem) {
  const GridDataOptions options = small_grid();
  const GridData data = simulate_grid_data(options, probe16());
  const at::Tensor corners = grid_scan_corners(options.grid);
  const at::Tensor first = data.groups.slice(0, 0, corners.size(0)).flatten();
  const at::Tensor found = data.scan.positions().index_select(0, first).view(corners.sizes()) - 8;
  EXPECT_TRUE(at::equal(found.to(at::kLong), corners));
}

TEST(GridData, KeepsTheDrawingsApart) {
  const GridData data = simulate_grid_data(small_grid(), probe16());
  const at::Tensor col = data.scan.positions().select(1, 1);
  EXPECT_GE((col.unsqueeze(0) - col.unsqueeze(1)).abs().gt(24).sum().item<int>(), 2 * 49 * 49);
}

TEST(GridData, HasTheAskedForPhotonsAndItsOwnTruth) {
  const GridData data = simulate_grid_data(small_grid(), probe16());
  const Scan& scan = data.scan;
  EXPECT_NEAR(scan.counts().to(at::kDouble).index({data.groups}).sum({2, 3}).mean().item<double>(),
              1e6, 2e3);
  const at::Tensor expected = to_centred(
      predict_intensity(scan.truth().to(at::kComplexDouble), scan.probe().to(at::kComplexDouble),
                        scan.positions(), Interpolation::probe_fourier, {}));
  const at::Tensor lit = expected.gt(1);
  const at::Tensor off = ((scan.counts() - expected).square() / expected).masked_select(lit).mean();
  EXPECT_NEAR(off.item<double>(), 1, 0.05);  // the variance of a Poisson number is its mean
}

TEST(GridData, ScoresTheTilesOfAllGroups) {
  const GridData data = simulate_grid_data(small_grid(), probe16());
  // 5 steps of 4 px and the last tile of 4, behind (16 - 4) / 2 px.
  EXPECT_EQ(data.tiles.front(), (Window{6, 30, 6, 30}));
}

TEST(GridData, RefusesWhatCannotBeSimulated) {
  GridDataOptions options = small_grid();
  options.images = 0;
  EXPECT_THROW(simulate_grid_data(options, probe16()), InvalidInput);
  options = small_grid();
  options.grid.object_size = 17;
  EXPECT_THROW(simulate_grid_data(options, probe16()), InvalidInput);
}

/// Amplitude 2 and a phase with tilt and curvature about pixel size / 2.
at::Tensor curved_wave(std::int64_t size) {
  const at::Tensor x = at::arange(size, at::kDouble) - static_cast<double>(size / 2);
  const auto line = [&](double tilt) { return tilt * x + 0.01 * x.square(); };
  const at::Tensor phase = 0.3 + line(0.1).unsqueeze(1) + line(-0.05);
  return at::polar(at::full({size, size}, 2.0, at::kDouble), phase);
}

TEST(GridProbe, IsExtrapolatedWithTheCurvatureOfItsPhase) {
  const TestFolder folder;
  const std::filesystem::path file = folder / "probe.npz";
  write_npz(file, {{"probeGuess", curved_wave(16)}});
  const at::Tensor probe = grid_probe(
      32, {.source = "custom", .file = file, .scale_mode = "pad_extrapolate", .smoothing_px = 0});
  EXPECT_LT(relative_difference(probe, curved_wave(32)), 1e-9);
}

TEST(GridProbe, RefusesAFileThatItWasNotAskedToLookAt) {
  EXPECT_THROW(grid_probe(64, {.file = "probe.npz"}), InvalidInput);
}

TEST(GridProbe, IsKeptInsideItsMask) {
  const at::Tensor whole = grid_probe(64, {}), kept = grid_probe(64, {.mask_diameter_px = 10});
  EXPECT_NEAR((kept / whole)[32][32].abs().item<double>(), 1, 1e-6);
  EXPECT_EQ(kept[32][32 + 10].abs().item<double>(), 0);
  EXPECT_GT(whole[32][32 + 9].abs().item<double>(), 0.5);
}

TEST(GridProbe, IsADiscUnlessAFileIsAskedFor) {
  EXPECT_EQ(grid_probe(64, {}).sizes(), (std::vector<std::int64_t>{64, 64}));
  GridProbeOptions custom;
  custom.source = "custom";
  EXPECT_THROW(grid_probe(64, custom), InvalidInput);
}

}  // namespace
}  // namespace ptyche
