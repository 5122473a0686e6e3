#include "ptyche/simulate/objects.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/data/array.h"
#include "ptyche/storage/numpy.h"
#include "tests/support/checks.h"

namespace ptyche {
namespace {

constexpr const char* kKinds[] = {"dead-leaves", "siemens-star", "bars",
                                  "lines",       "random-field", "crystal"};

ObjectOptions object_of(const std::string& kind, std::int64_t rows = 70, std::int64_t cols = 90) {
  ObjectOptions options;
  options.kind = kind;
  options.rows = rows;
  options.cols = cols;
  return options;
}

/// 0 at the smallest phase, 1 at the largest.
at::Tensor phase_level(const at::Tensor& object, const ObjectOptions& options) {
  return object.to(at::kComplexDouble).angle() / options.phase_range_rad + 0.5;
}

TEST(MakeObject, StaysInsideItsRangesAndReachesTheirEnds) {
  for (const std::string material : {"one", "independent"})
    for (const std::string kind : kKinds) {
      SCOPED_TRACE(kind + ", material " + material);
      ObjectOptions options = object_of(kind, 200, 240);
      options.material = material;
      options.amplitude_min = 0.3;
      options.amplitude_max = 0.8;
      options.phase_range_rad = 2.4;
      const at::Tensor object = make_object(options);
      ASSERT_EQ(object.sizes(), (at::IntArrayRef{200, 240}));
      ASSERT_EQ(object.scalar_type(), at::kComplexFloat);
      const at::Tensor amplitude = object.abs(), phase = object.angle();
      EXPECT_GE(amplitude.min().item<double>(), 0.3 - 1e-6);
      EXPECT_LE(amplitude.max().item<double>(), 0.8 + 1e-6);
      EXPECT_LE(phase.abs().max().item<double>(), 1.2 + 1e-6);
      EXPECT_NEAR(amplitude.min().item<double>(), 0.3, 0.02);
      EXPECT_NEAR(amplitude.max().item<double>(), 0.8, 0.02);
      EXPECT_NEAR(phase.min().item<double>(), -1.2, 0.08);
      EXPECT_NEAR(phase.max().item<double>(), 1.2, 0.08);
    }
}

// Lambert-Beer: the thickness that the amplitude tells is the one that the phase tells.
TEST(MakeObject, OfOneMaterialHasOneThickness) {
  for (const std::string kind : kKinds) {
    const ObjectOptions options = object_of(kind);
    const at::Tensor object = make_object(options);
    const at::Tensor from_amplitude =
        at::log(object.to(at::kComplexDouble).abs() / options.amplitude_max) /
        std::log(options.amplitude_min / options.amplitude_max);
    EXPECT_TRUE(at::allclose(from_amplitude, 1 - phase_level(object, options), 0, 1e-5)) << kind;
  }
}

TEST(MakeObject, IsTheSameForAnyThreadCount) {
  const int threads = at::get_num_threads();
  for (const std::string kind : kKinds) {
    at::set_num_threads(1);
    const at::Tensor one = make_object(object_of(kind));
    at::set_num_threads(3);
    EXPECT_TRUE(at::equal(one, make_object(object_of(kind)))) << kind;
  }
  at::set_num_threads(threads);
}

TEST(MakeObject, FollowsTheSeedWhereItIsRandom) {
  for (const std::string kind : kKinds) {
    ObjectOptions other = object_of(kind);
    other.seed = 2;
    const bool random = kind != "siemens-star" && kind != "bars";
    EXPECT_NE(at::equal(make_object(object_of(kind)), make_object(other)), random) << kind;
  }
}

TEST(MakeObject, OfIndependentPartsHasAmplitudesThatDoNotTellThePhases) {
  for (const std::string kind : {"dead-leaves", "random-field"}) {
    double mean = 0;
    for (std::uint64_t seed = 1; seed <= 24; ++seed) {
      ObjectOptions options = object_of(kind);
      options.seed = seed;
      options.material = "independent";
      const at::Tensor object = make_object(options);
      const at::Tensor pair = at::stack({object.abs().flatten(), object.angle().flatten()});
      mean += at::corrcoef(pair)[0][1].item<double>() / 24;
    }
    EXPECT_NEAR(mean, 0, 0.25) << kind;  // few large waves: 0.1 by chance
  }
}

TEST(DeadLeaves, HasPlateausWithSharpEdgesAndNothingBare) {
  const at::Tensor object = make_object(object_of("dead-leaves", 200, 240));
  const at::Tensor step = (object.slice(1, 1) - object.slice(1, 0, -1)).abs();
  const double flat = at::mean((step < 1e-6).to(at::kDouble)).item<double>();
  EXPECT_GT(flat, 0.6);
  EXPECT_LT(flat, 0.95);
  EXPECT_GT(step.max().item<double>(), 0.3);
  const at::Tensor bare = object.angle().abs() < 1e-6;  // the canvas lies at half the range
  EXPECT_LT(at::mean(bare.to(at::kDouble)).item<double>(), 1e-3);
}

// Half of a disc of radius 0.45 min(rows, cols) is dark.
TEST(SiemensStar, IsDarkOnHalfOfItsDisc) {
  const ObjectOptions options = object_of("siemens-star", 300, 300);
  const at::Tensor dark = 1 - phase_level(make_object(options), options);
  EXPECT_NEAR(dark.mean().item<double>(), 0.5 * std::numbers::pi * 0.45 * 0.45, 0.002);
}

TEST(Bars, RepeatWithThePeriodOfTheirTile) {
  const ObjectOptions options = object_of("bars", 96, 96);
  const at::Tensor level = phase_level(make_object(options), options);
  const at::Tensor tile = level.slice(0, 5, 43).slice(1, 5, 43);  // period 16, bars along columns
  EXPECT_TRUE(at::allclose(tile.slice(0, 0, 22), tile.slice(0, 16, 38)));
  EXPECT_TRUE(at::allclose(tile.slice(0, 0, 22), 1 - tile.slice(0, 8, 30)));
  EXPECT_TRUE(at::allclose(tile, tile.slice(1, 0, 1).expand_as(tile)));
}

// The levels undone to the Gaussian field beneath; its power times |q|^3 is the same in all rings.
TEST(RandomField, HasThePowerSpectrumOfItsExponent) {
  const ObjectOptions options = object_of("random-field", 256, 256);
  const at::Tensor level = phase_level(make_object(options), options);
  const at::Tensor field = at::erfinv(2 * level.clamp(1e-6, 1 - 1e-6) - 1);
  const at::Tensor axis = at::fft_fftfreq(256, 1.0, at::kDouble);
  const at::Tensor frequency = at::hypot(axis.unsqueeze(1), axis.unsqueeze(0));
  const at::Tensor power = at::fft_fft2(field).abs().square() * frequency.pow(3);
  const auto ring = [&](double low, double high) {
    const at::Tensor inside = at::logical_and(frequency >= low, frequency < high);
    return power.masked_select(inside).mean().item<double>();
  };
  EXPECT_NEAR(ring(0.1, 0.2) / ring(0.03, 0.06), 1, 0.25);
  EXPECT_NEAR(ring(0.25, 0.5) / ring(0.1, 0.2), 1, 0.1);
}

TEST(Lines, AreTheDrawingOfTheirSeedFromItsDarkestToItsBrightest) {
  ObjectOptions options = object_of("lines", 60, 60);
  options.seed = 3;
  const at::Tensor drawing = line_drawing(60, 3);
  const at::Tensor level = (drawing - drawing.min()) / (drawing.max() - drawing.min());
  EXPECT_TRUE(at::allclose(phase_level(make_object(options), options), level, 0, 1e-5));
}

/// A ramp along the rows, 40 x 80, as a .npy file that is removed again.
struct RampFile {
  RampFile() {
    const at::Tensor ramp = at::arange(40, at::kDouble).unsqueeze(1).expand({40, 80}).contiguous();
    std::ofstream out(name, std::ios::binary);
    out << npy_header(ramp);
    out.write(reinterpret_cast<const char*>(ramp.data_ptr<double>()), 8 * ramp.numel());
  }
  ~RampFile() { std::filesystem::remove(name); }
  std::filesystem::path name = std::filesystem::path(testing::TempDir()) / "ramp.npy";
};

TEST(ImageObject, FillsItsSizeFromTheMiddleOfThePicture) {
  const RampFile ramp;
  for (const std::int64_t size : {20, 40, 120}) {
    ObjectOptions options = object_of("image", size, size);
    options.file = ramp.name;
    const at::Tensor level = phase_level(make_object(options), options);
    EXPECT_TRUE(at::allclose(level, level.narrow(1, 0, 1).expand_as(level), 0, 1e-5));
    EXPECT_NEAR(level.min().item<double>(), 0, 1e-5);
    EXPECT_NEAR(level.max().item<double>(), 1, 1e-5);
    EXPECT_NEAR(level[size / 4][0].item<double>(), 0.25, 0.02);
  }
}

TEST(ImageObject, OfTwoFilesHasTheAmplitudeOfOneAndThePhaseOfTheOther) {
  const RampFile ramp;
  ObjectOptions options = object_of("image", 40, 40);
  options.file = ramp.name;
  const at::Tensor one = make_object(options);
  options.phase_file = ramp.name;
  const at::Tensor two = make_object(options), level = phase_level(two, options);
  EXPECT_TRUE(at::allclose(two.to(at::kComplexDouble).abs(), 0.5 + 0.5 * level, 0, 1e-5));
  EXPECT_FALSE(at::allclose(one.abs(), two.abs(), 0, 1e-3));
  options.file = "";
  EXPECT_THROW(make_object(options), InvalidInput);
  options.file = "no-such-file.png";
  EXPECT_THROW(make_object(options), InvalidInput);
}

TEST(MakeObject, RefusesOptionsOutOfRange) {
  const auto refuses = [](auto change) {
    ObjectOptions options = object_of("lines", 8, 8);
    change(options);
    EXPECT_THROW(make_object(options), InvalidInput);
  };
  refuses([](ObjectOptions& options) { options.kind = "cat"; });
  refuses([](ObjectOptions& options) { options.kind = "image"; });
  refuses([](ObjectOptions& options) { options.file = "picture.png"; });
  refuses([](ObjectOptions& options) { options.material = "two"; });
  refuses([](ObjectOptions& options) { options.amplitude_min = 0; });
  refuses([](ObjectOptions& options) { options.rows = 0; });
  refuses([](ObjectOptions& options) { options.amplitude_min = -0.1; });
  refuses([](ObjectOptions& options) { options.amplitude_min = 1.1; });
  refuses([](ObjectOptions& options) { options.amplitude_max = INFINITY; });
  refuses([](ObjectOptions& options) { options.phase_range_rad = 6.3; });
  refuses([](ObjectOptions& options) { options.phase_range_rad = NAN; });
}

TEST(LineDrawing, HasWhiteLinesOfOnePixelFromEndToEnd) {
  const at::Tensor raster = line_raster(32, 5);
  EXPECT_TRUE(raster.eq(0).logical_or(raster.eq(1)).all().item<bool>());
  for (const LineEnds& ends : line_ends(32, 5)) {
    EXPECT_EQ(raster[ends[0]][ends[1]].item<double>(), 1);
    EXPECT_EQ(raster[ends[2]][ends[3]].item<double>(), 1);
    // Midway, the line is at most half a pixel from a raster point.
    const auto row = static_cast<std::int64_t>(std::floor(0.5 * double(ends[0] + ends[2])));
    const auto col = static_cast<std::int64_t>(std::floor(0.5 * double(ends[1] + ends[3])));
    EXPECT_GT(raster.narrow(0, row, std::min<std::int64_t>(2, 64 - row))
                  .narrow(1, col, std::min<std::int64_t>(2, 64 - col))
                  .sum()
                  .item<double>(),
              0);
  }
}

// The three blurs keep the mean: 1 + 2 + 5 times the share of white pixels, the border apart.
TEST(LineDrawing, IsEightTimesAsBrightAsItsLinesInTheMean) {
  const at::Tensor raster = line_raster(64, 5), drawing = line_drawing(64, 5);
  EXPECT_EQ(drawing.sizes(), (at::IntArrayRef{64, 64}));
  const double white = raster.narrow(0, 32, 64).narrow(1, 32, 64).mean().item<double>();
  EXPECT_NEAR(drawing.mean().item<double>() / (8 * white), 1, 0.05);
  EXPECT_FALSE(at::equal(drawing, line_drawing(64, 6)));
  EXPECT_THROW(line_drawing(1, 5), InvalidInput);
}

TEST(LineDrawing, HasAPhaseInsidePlusMinusPiThatGrowsWithItsAmplitude) {
  const at::Tensor amplitude = at::linspace(0, 4, 50, at::kDouble);
  const at::Tensor phase = phase_of_drawing(amplitude);
  EXPECT_LT(phase.abs().max().item<double>(), M_PI);
  EXPECT_TRUE(phase.diff().gt(0).all().item<bool>());
  EXPECT_NEAR(phase[0].item<double>(), -M_PI * std::tanh(2 / (3 * 2.0)), 1e-12);
}

TEST(GaussianFilter, KeepsTheSumAndWidensByItsVariance) {
  at::Tensor point = at::zeros({61, 61}, at::kDouble);
  point[30][30] = 1;
  const at::Tensor blurred = gaussian_filter(point, 2.5);
  const at::Tensor axis = at::arange(61, at::kDouble) - 30;
  EXPECT_NEAR(blurred.sum().item<double>(), 1, 1e-12);
  EXPECT_NEAR((blurred.sum(1) * axis.square()).sum().item<double>(), 2.5 * 2.5, 0.02);
}

TEST(GaussianFilter, MirrorsAnImageSmallerThanItsReach) {
  const at::Tensor image = random_tensor({3, 4}, at::kDouble, 1);
  const at::Tensor wide = at::cat({image, image.flip(0), image, image.flip(0), image}, 0);
  const at::Tensor both = at::cat({wide, wide.flip(1), wide, wide.flip(1), wide}, 1);
  const at::Tensor expected = gaussian_filter(both, 1).narrow(0, 6, 3).narrow(1, 8, 4);
  EXPECT_LT(relative_difference(gaussian_filter(image, 1), expected), 1e-12);
}

}  // namespace
}  // namespace ptyche
