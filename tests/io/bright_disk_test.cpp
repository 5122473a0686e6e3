#include "ptyche/io/bright_disk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>

#include "ptyche/core/messages.h"
#include "ptyche/io/read_scan.h"
#include "tests/io/scan_files.h"

namespace ptyche {
namespace {

constexpr int kFine = 5;  // points a side in which the light of a pixel is summed

/// Light at a point, in distances from the disk's middle over its radius (down, right).
using Light = std::function<double(double, double)>;

/// What a disk is drawn with.
struct Drawn {
  std::int64_t size = 128;
  Circle circle;
  double dark = 0.05;  ///< at the middle; it falls as exp(-q), and lies under the disk, too
  Light inside = [](double, double) { return 1.0; };
  Light everywhere = [](double, double) { return 1.0; };
  double counts = 400;      ///< of a pixel in the disk
  double row = 0, col = 0;  ///< by which the disk is off
};

double light_at(const Drawn& drawn, double row, double col) {
  const double down = (row - drawn.circle.row - drawn.row) / drawn.circle.radius,
               right = (col - drawn.circle.col - drawn.col) / drawn.circle.radius;
  const double q = std::hypot(down, right);
  return drawn.everywhere(down, right) *
         ((q < 1 ? drawn.inside(down, right) : 0) + drawn.dark * std::exp(-q));
}

/// Mean counts: the light summed over each pixel, more finely at the rim.
std::vector<double> means_of(const Drawn& drawn) {
  std::vector<double> means;
  for (std::int64_t r = 0; r < drawn.size; ++r)
    for (std::int64_t c = 0; c < drawn.size; ++c) {
      const auto row = static_cast<double>(r), col = static_cast<double>(c);
      const double distance =
          std::hypot(row - drawn.circle.row - drawn.row, col - drawn.circle.col - drawn.col);
      const int side = std::abs(distance - drawn.circle.radius) < 1 ? kFine : 2;
      double sum = 0;
      for (int i = 0; i < side * side; ++i)
        sum += light_at(drawn, row + (i / side + 0.5) / side - 0.5,
                        col + (i % side + 0.5) / side - 0.5);
      means.push_back(drawn.counts * sum / (side * side));
    }
  return means;
}

std::vector<double> poisson(const std::vector<double>& means, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> counts;
  for (const double mean : means)
    counts.push_back(static_cast<double>(std::poisson_distribution<std::int64_t>(mean)(random)));
  return counts;
}

DiskImage image_of(const Drawn& drawn, std::uint64_t seed = 1) {
  const std::vector<double> ones(static_cast<std::size_t>(drawn.size * drawn.size), 1);
  return {drawn.size, drawn.size, poisson(means_of(drawn), seed), ones};
}

/// Off the middle of a pixel.
Circle middle_of(std::int64_t size, double radius) {
  return {static_cast<double>(size) / 2 + 0.3, static_cast<double>(size) / 2 - 0.2, radius};
}

void expect_measured(const Drawn& drawn, const BrightDisk& disk, double within = 0.02) {
  EXPECT_EQ(disk.doubt, "") << drawn.size << " " << drawn.circle.radius;
  EXPECT_NEAR(disk.edge.circle.radius / drawn.circle.radius, 1, within)
      << drawn.size << " " << drawn.circle.radius;
}

void expect_measured(const Drawn& drawn) {
  expect_measured(drawn, bright_disk_of({image_of(drawn)}));
}

TEST(BrightDisk, RadiiFromFourPixelsToNearlyHalfOfTheDetectorAreMeasured) {
  for (const double radius : {4.0, 8.0, 13.1, 57.6})
    expect_measured({.circle = middle_of(128, radius)});
  for (const double radius : {4.0, 14.4})
    expect_measured({.size = 32, .circle = middle_of(32, radius)});
  expect_measured({.size = 256, .circle = middle_of(256, 115.2)});
}

TEST(BrightDisk, AStrongDarkFieldMovesNothing) {
  for (const double dark : {0.0, 0.3, 0.8})
    expect_measured({.size = 96, .circle = middle_of(96, 9.1), .dark = dark});
}

TEST(BrightDisk, ContrastWithinTheDiskMovesNothing) {
  Drawn drawn{.circle = middle_of(96, 14.3)};
  drawn.size = 96;
  drawn.inside = [](double down, double right) {
    const bool band = std::abs(0.8 * down + 0.6 * right - 0.3) < 0.2;
    return (1 + 0.5 * std::cos(7 * down) * std::cos(5 * right + 1)) * (band ? 1.6 : 1);
  };
  expect_measured(drawn);
}

TEST(BrightDisk, DisksOfACrystalThatOverlapMoveNothing) {
  Drawn drawn{.circle = middle_of(128, 11.2)};
  drawn.everywhere = [](double down, double right) {
    double light = 0;
    for (int i = -3; i <= 3; ++i)
      for (int j = -3; j <= 3; ++j)
        if ((i != 0 || j != 0) && std::hypot(down - 1.4 * i, right - 1.4 * j) < 1)
          light += 0.3 * std::exp(-0.5 * std::hypot(i, j));
    return std::hypot(down, right) < 1 ? 1 + light : (0.05 + light) / 0.05;
  };
  expect_measured(drawn);
}

TEST(BrightDisk, IsFoundBehindABeamStopAndBesideMaskedAndBrokenPixels) {
  Drawn stopped{.circle = middle_of(64, 12.4)};
  stopped.size = 64;
  stopped.everywhere = [](double down, double right) {
    return std::hypot(down, right) < 0.3 || (std::abs(down) < 0.2 && right > 0) ? 0.02 : 1.0;
  };
  expect_measured(stopped);
  const Drawn whole{.circle = middle_of(128, 20.7)};
  DiskImage image = image_of(whole);
  for (const std::size_t hot : {1000U, 5050U, 8257U, 12000U}) image.light[hot] = 1e6;
  for (const std::size_t dead : {8129U, 7680U}) image.light[dead] = 0;
  for (std::size_t i = 0; i < image.weight.size(); ++i)
    if (i / 128 < 64 && i % 128 >= 70) image.weight[i] = 0;
  expect_measured(whole, bright_disk_of({image}));
}

TEST(BrightDisk, IsFoundFarFromTheMiddleAndPartlyOutside) {
  expect_measured({.circle = {95.6, 40.2, 15.3}});
  expect_measured({.circle = {30.4, 64.1, 40.2}});
}

TEST(BrightDisk, QuadrantsOfOtherGainsMoveNothing) {
  Drawn drawn{.circle = middle_of(128, 24.6)};
  drawn.everywhere = [](double down, double right) {
    return (down > 0 ? 1.15 : 0.9) * (right > 0 ? 1.1 : 0.95);
  };
  expect_measured(drawn);
}

TEST(BrightDisk, AHandfulOfElectronsInAPixelIsEnough) {
  for (const double radius : {13.1, 40.0})
    expect_measured({.circle = middle_of(128, radius), .counts = 20});
}

TEST(BrightDisk, WhatMovesFromPartToPartIsPutInItsPlaces) {
  const Drawn still{.size = 64, .circle = middle_of(64, 6.5)};
  std::vector<DiskImage> parts;
  for (int i = 0; i < 16; ++i) {
    Drawn moved = still;
    moved.row = 2.0 * (i / 4 - 1.5);
    moved.col = 1.2 * (i % 4 - 1.5);
    parts.push_back(image_of(moved, static_cast<std::uint64_t>(i + 1)));
  }
  const BrightDisk disk = bright_disk_of(parts);
  expect_measured(still, disk);
  EXPECT_NEAR(disk.moves_px, std::hypot(3.0, 1.8), 0.5);
}

TEST(BrightDisk, WithoutADiskTheRadiusIsDoubted) {
  EXPECT_NE(bright_disk_of({image_of({.circle = middle_of(64, 200), .counts = 30})}).doubt, "");
  Drawn smooth{.size = 64, .circle = middle_of(64, 1), .dark = 1};
  smooth.inside = [](double, double) { return 0.0; };
  smooth.everywhere = [](double down, double right) {
    return std::exp(-0.5 * (down * down + right * right) / 144 + std::hypot(down, right));
  };
  EXPECT_NE(bright_disk_of({image_of(smooth)}).doubt, "");
  EXPECT_NE(bright_disk_of(
                {DiskImage{32, 32, std::vector<double>(1024, 0), std::vector<double>(1024, 1)}})
                .doubt,
            "");
}

// In a scan.

/// 100 patterns (n, size, size) of one disk, which moves by up to `moves` px over the raster.
at::Tensor patterns_of(const Drawn& drawn, double moves = 0) {
  std::vector<at::Tensor> all;
  for (int line = 0; line < 10; ++line) {
    Drawn moved = drawn;
    moved.row = moves * (line / 4.5 - 1);
    const std::vector<double> means = means_of(moved);
    for (std::uint64_t i = 1; i <= 10; ++i)
      all.push_back(
          at::tensor(poisson(means, 10 * static_cast<std::uint64_t>(line) + i), at::kFloat)
              .view({drawn.size, drawn.size}));
  }
  return at::stack(all);
}

at::Tensor raster_of_ten() {
  const at::Tensor axis = at::arange(10, at::kDouble);
  return at::stack({axis.repeat_interleave(10), axis.repeat(10)}, 1);
}

TEST(BrightDisk, OneElectronInAPixelOfAPatternAndDescanAreMeasured) {
  const Drawn drawn{.size = 48, .circle = middle_of(48, 7.4), .counts = 1};
  const at::Tensor mask = at::ones({48, 48}, at::kBool);
  const BrightDisk disk =
      bright_disk_of(disk_parts(patterns_of(drawn, 2.5), mask, raster_of_ten(), {}));
  expect_measured(drawn, disk);
}

TEST(BrightDisk, AmplitudesAndMarkersOfInvalidPixelsSayTheSame) {
  const Drawn drawn{.size = 32, .circle = middle_of(32, 6.1), .counts = 50};
  at::Tensor counts = patterns_of(drawn);
  const at::Tensor mask = at::ones({32, 32}, at::kBool);
  const double plain =
      bright_disk_of(disk_parts(counts, mask, raster_of_ten(), {})).edge.circle.radius;
  const auto roots = disk_parts(counts.sqrt(), mask, raster_of_ten(), {.roots = true});
  EXPECT_NEAR(bright_disk_of(roots).edge.circle.radius, plain, 1e-3);
  counts.slice(0, 0, 100, 5).select(2, 3).fill_(65535);
  const auto marked = disk_parts(counts, mask, raster_of_ten(), {.ceiling = 65535});
  EXPECT_NEAR(bright_disk_of(marked).edge.circle.radius, plain, 0.02);
}

ReadOptions microscope(const std::filesystem::path& file, const at::Tensor& patterns) {
  const at::Tensor values = patterns.contiguous();
  const auto* bytes = static_cast<const char*>(values.const_data_ptr());
  write_text(file, npy_header(values) + std::string(bytes, values.nbytes()));
  ReadOptions options;
  options.file = file;
  options.scan_shape = "10x10";
  options.scan_step_m = 4e-11;
  options.voltage_v = 80e3;
  options.semi_angle_rad = 0.0214;
  return options;
}

TEST(SemiAngle, GivesTheObjectPixelByTheDiskAndNotByTheDarkField) {
  const TestFolder folder;
  const Drawn drawn{.size = 64, .circle = middle_of(64, 6.6), .dark = 0.3, .counts = 30};
  const Scan scan = read_scan(microscope(folder / "stem.npy", patterns_of(drawn)));
  // Kirkland, Advanced Computing in Electron Microscopy (2010), eq. 2.5: 4.1757 pm at 80 kV.
  const double expected = 4.1757e-12 / (64 * 0.0214 / 6.6);
  EXPECT_NEAR(scan.geometry().object_pixel_m / expected, 1, 0.02);
}

TEST(SemiAngle, IsAskedForInAnotherWayWhereNoDiskIsCertain) {
  const TestFolder folder;
  const at::Tensor flat = patterns_of({.size = 32, .circle = middle_of(32, 90), .counts = 30});
  const ReadOptions options = microscope(folder / "flat.npy", flat);
  const std::string said = message_of([&] { read_scan(options); });
  EXPECT_NE(said.find("--semi-angle: expected patterns with a bright disk"), std::string::npos)
      << said;
  EXPECT_NE(said.find("type --distance 1m --detector-pixel"), std::string::npos) << said;
  ReadOptions told = options;
  told.distance_m = 1;
  told.detector_pixel_m = 0.0014;
  EXPECT_NEAR(read_scan(told).geometry().object_pixel_m, 4.1757e-12 / (32 * 0.0014), 1e-15);
}

TEST(SemiAngle, ACameraLengthThatContradictsTheDiskIsWarnedOf) {
  const TestFolder folder;
  const Drawn drawn{.size = 48, .circle = middle_of(48, 8.2), .counts = 30};
  ReadOptions options = microscope(folder / "stem.npy", patterns_of(drawn));
  options.distance_m = 1;
  const auto warnings_at = [&](double pixel_rad) {
    const HeardRemarks heard;
    options.detector_pixel_m = pixel_rad;
    EXPECT_NEAR(read_scan(options).geometry().detector_pixel_m, pixel_rad, 1e-12);
    const std::vector<Remark> remarks = heard.list();
    return std::ranges::count_if(remarks, [](const Remark& remark) {
      return remark.kind == Remark::Kind::warning &&
             remark.text.find("the bright disk has a radius of 8.2 px") != std::string::npos;
    });
  };
  EXPECT_EQ(warnings_at(0.0214 / 8.2), 0);
  EXPECT_EQ(warnings_at(0.0214 / 8.2 * 1.03), 0);
  EXPECT_EQ(warnings_at(0.0214 / 8.2 * 1.3), 1);
  EXPECT_EQ(warnings_at(0.0214 / 8.2 * 0.8), 1);
}

}  // namespace
}  // namespace ptyche
