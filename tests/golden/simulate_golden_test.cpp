// Family h: default probe, lines object, regular-grid simulation.
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "ptyche/physics/canvas.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/ptychopinn/grid_data.h"
#include "ptyche/ptychopinn/operators.h"
#include "ptyche/simulate/objects.h"
#include "ptyche/simulate/probes.h"
#include "ptyche/simulate/simulate.h"
#include "tests/support/golden.h"

namespace ptyche {
namespace {

/// Calls `check` with the numbers in the names of all arrays that match.
void for_arrays(const GoldenFile& golden, const std::string& pattern,
                const std::function<void(const at::Tensor&, const std::smatch&)>& check) {
  int found = 0;
  for (const std::string& name : golden.names()) {
    std::smatch match;
    if (!std::regex_match(name, match, std::regex(pattern))) continue;
    SCOPED_TRACE(name);
    check(golden.array(name), match);
    ++found;
  }
  EXPECT_GT(found, 0) << pattern;
}

TEST(GoldenDefaultProbe, IsPtychoPinns) {
  for_each_golden("h_probe", [](const GoldenFile& golden) {
    for_arrays(golden, "probe_raw_N(\\d+)",
               [](const at::Tensor& expected, const std::smatch& name) {
                 EXPECT_TRUE(agrees(default_probe(std::stol(name[1])), expected, 1e-12, 1e-15));
               });
    const at::Tensor mask = golden.array("mask_hard_disk");
    EXPECT_TRUE(at::equal(hard_probe_mask(mask.size(0)), mask.to(at::kBool)));
  });
}

TEST(GoldenDefaultProbe, IsCalibratedAsPtychoPinnDoes) {
  for_each_golden("h_probe", [](const GoldenFile& golden) {
    for_arrays(
        golden, "probe_set_N(\\d+)_scale(\\d+)",
        [](const at::Tensor& expected, const std::smatch& name) {
          const std::int64_t size = std::stol(name[1]);
          EXPECT_TRUE(agrees(calibrate_probe_to_mean(default_probe(size), hard_probe_mask(size),
                                                     std::stod(name[2])),
                             expected));
        });
  });
}

TEST(GoldenLines, DrawsPtychoPinnsRandomNumbersAndEnds) {
  for_each_golden("h_probe", [](const GoldenFile& golden) {
    const auto seed = static_cast<std::uint32_t>(golden.integer("numpy_legacy_seed"));
    for_arrays(golden, "mt19937_uniform_first.*", [&](const at::Tensor& expected, const auto&) {
      std::mt19937 generator(seed);
      for (std::int64_t i = 0; i < expected.numel(); ++i)
        EXPECT_EQ(mersenne_uniform(generator), expected[i].item<double>());
    });
    const at::Tensor expected = golden.array("lines_endpoints_r0c0r1c1");
    const auto ends = line_ends(golden.integer("lines_size"), seed);
    ASSERT_EQ(static_cast<std::int64_t>(ends.size()), expected.size(0));
    for (std::size_t i = 0; i < ends.size(); ++i)
      for (std::size_t j = 0; j < 4; ++j)
        EXPECT_EQ(ends[i][j],
                  expected[static_cast<std::int64_t>(i)][static_cast<std::int64_t>(j)].item<int>());
  });
}

TEST(GoldenLines, ArePtychoPinnsRasterAndObject) {
  for_each_golden("h_probe", [](const GoldenFile& golden) {
    const auto seed = static_cast<std::uint32_t>(golden.integer("numpy_legacy_seed"));
    const std::int64_t size = golden.integer("lines_size");
    const at::Tensor raster = line_raster(size, seed).flatten().to(at::kByte).view({-1, 8});
    const at::Tensor bits = at::tensor({128, 64, 32, 16, 8, 4, 2, 1}, at::kLong);
    EXPECT_TRUE(at::equal((raster * bits).sum(1), golden.array("lines_raw").to(at::kLong)));
    const at::Tensor drawing = line_drawing(size, seed);
    EXPECT_TRUE(agrees(drawing, golden.array("lines_object"), 1e-12, 1e-14));
    EXPECT_TRUE(agrees(phase_of_drawing(drawing), golden.array("dummy_phi")));
  });
}

TEST(GoldenLines, ArePtychoPinnsObjectAtTheWorkflowsSize) {
  for_each_golden("h_lines", [](const GoldenFile& golden) {
    for_arrays(golden, "row(\\d+)", [&](const at::Tensor& row, const std::smatch& name) {
      const at::Tensor drawing =
          line_drawing(row.size(0), static_cast<std::uint32_t>(golden.integer("seed")));
      EXPECT_TRUE(agrees(drawing[std::stol(name[1])], row, 1e-12, 1e-14));
      EXPECT_TRUE(
          agrees(drawing.slice(0, 0, {}, 2).slice(1, 0, {}, 2), golden.array("object_first")));
      EXPECT_NEAR(drawing.mean().item<double>(), golden.number("mean"), 1e-12);
      EXPECT_NEAR(at::std(drawing, /*unbiased=*/false).item<double>(), golden.number("std"), 1e-12);
      EXPECT_NEAR(drawing.max().item<double>(), golden.number("max"), 1e-12);
    });
  });
}

/// The regular-grid scan of one file.
struct Grid {
  explicit Grid(const GoldenFile& golden)
      : options{.object_size = golden.integer("size"),
                .pattern_size = golden.integer("N"),
                .gridsize = golden.integer("gridsize"),
                .offset_px = golden.integer("offset"),
                .outer_offset_px = golden.integer("outer_offset")},
        corners(grid_scan_corners(options)),
        probe(golden.array("probe").to(at::kComplexDouble)),
        object(
            at::polar(
                golden.array("object_amp"),
                golden.array("object_phase").to(at::kDouble).expand_as(golden.array("object_amp")))
                .to(at::kComplexDouble)) {
    const at::Tensor flat = corners.view({-1, 2});
    const at::Tensor index = at::arange(flat.size(0), at::kLong).view(corners.sizes().slice(0, 2));
    scales = grid_scales(object, probe, flat, index, golden.number("nphotons"));
    object = object / scales.object_norm;
    const at::Tensor place = flat.to(at::kDouble);
    patches = extract_patches(object, place, options.pattern_size).abs();
    amplitudes = to_centred(predict_intensity(object, probe.unsqueeze(0),
                                              place + static_cast<double>(options.pattern_size / 2),
                                              Interpolation::probe_fourier, {}))
                     .sqrt();
  }

  GridScanOptions options;
  at::Tensor corners, probe, object;
  GridScales scales;
  at::Tensor patches, amplitudes;  // (groups * C, N, N) of the normalised object, without the dose
};

TEST(GoldenGrid, ScansWherePtychoPinnDoes) {
  for_each_golden("h_grid_sim", [](const GoldenFile& golden) {
    const Grid grid(golden);
    EXPECT_EQ(grid.corners.size(0), golden.integer("n_groups"));
    // PtychoPINN's coordinate of a patch is the point between its central pixels.
    const at::Tensor centres =
        grid.corners.to(at::kDouble) + 0.5 * static_cast<double>(grid.options.pattern_size - 1);
    const auto axis = [](const at::Tensor& global) { return global.flatten(1); };
    EXPECT_TRUE(agrees(centres.select(2, 0), axis(golden.array("global_y"))));
    EXPECT_TRUE(agrees(centres.select(2, 1), axis(golden.array("global_x"))));
    // Its relative coordinates have the opposite sign of our offsets.
    EXPECT_TRUE(agrees(centres.mean(1, true) - centres, golden.offsets("coords_relative_xy")));
  });
}

TEST(GoldenGrid, HasPtychoPinnsScales) {
  for_each_golden("h_grid_sim", [](const GoldenFile& golden) {
    const Grid grid(golden);
    EXPECT_NEAR(grid.scales.object_norm / golden.number("norm_Y_I"), 1, 1e-6);
    EXPECT_NEAR(grid.scales.intensity / golden.number("intensity_scale"), 1, 1e-6);
  });
}

TEST(GoldenGrid, HasPtychoPinnsPatchesAndAmplitudes) {
  for_each_golden("h_grid_sim", [](const GoldenFile& golden) {
    const Grid grid(golden);
    const auto first = [](const at::Tensor& ours, const at::Tensor& expected) {
      return ours.narrow(0, 0, expected.size(0));
    };
    const at::Tensor patches = golden.array("Y_I_preprobe_flat_first");
    EXPECT_TRUE(agrees(first(grid.patches, patches), patches));
    const at::Tensor amplitudes = golden.array("clean_X_flat_first");
    EXPECT_TRUE(agrees(first(grid.amplitudes, amplitudes), amplitudes));
    const at::Tensor lit = golden.array("Y_I_out_first_group").permute({2, 0, 1});
    EXPECT_TRUE(agrees(first(grid.patches, lit) * golden.array("probe").abs(), lit));
  });
}

TEST(GoldenGrid, CountsAsManyPhotonsAsPtychoPinn) {
  for_each_golden("h_grid_sim", [](const GoldenFile& golden) {
    const Grid grid(golden);
    const at::Tensor expected = (grid.scales.intensity * grid.amplitudes).square();
    const at::Tensor counts =
        poisson_draws(expected, at::arange(expected.size(0), at::kLong), 0, Purpose::noise);
    const double photons = golden.number("nphotons");
    EXPECT_NEAR(expected.sum({1, 2}).mean().item<double>() / photons, 1, 1e-9);
    // Two independent draws: five standard deviations of their difference.
    const double noise = 5 * std::sqrt(2 / (photons * static_cast<double>(counts.size(0))));
    const double drawn = counts.sum({1, 2}).mean().item<double>();
    EXPECT_NEAR(drawn / golden.number("poisson_mean_total_counts"), 1, noise);
  });
}

}  // namespace
}  // namespace ptyche
