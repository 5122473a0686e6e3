#include "ptyche/report/scan_figures.h"

#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "tests/report/sample.h"
#include "tests/support/plain_solver.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

Reconstruction with_positions(const Scan& scan, const at::Tensor& positions) {
  Reconstruction image = flat(scan);
  image.positions = positions;
  return image;
}

TEST(MovementOfPositions, LeavesOutTheCommonShiftThatNoPatternCanTell) {
  const Scan scan = small_scan();
  EXPECT_NEAR(movement(with_positions(scan, scan.positions() + 3.5), scan).largest_px, 0, 1e-9);
  at::Tensor moved = scan.positions().clone();
  moved.slice(0, 0, moved.size(0), 2).select(1, 0) += 1.0;
  const Movement found = movement(with_positions(scan, moved), scan);
  EXPECT_NEAR(found.rms_px, 0.5, 0.02);
}

TEST(PatternFigures, NameTheWorstAndTheBrightestPattern) {
  const Scan scan = small_scan(25);
  ScanFields fields = scan.fields();
  fields.counts = scan.counts().clone();
  fields.counts[7] = fields.counts[7].flip({0, 1}) * 2;
  const Scan altered{fields};
  const PatternFigures shown = pattern_figures(flat(altered), altered);
  ASSERT_EQ(shown.figures.size(), 3U);
  EXPECT_EQ(shown.figures[0].panels[2].title, "brightest: pattern 7");
  EXPECT_EQ(shown.figures[0].axis_unit, "detector pixel");
}

TEST(PatternFigures, OfAnotherPatternSizeAreRefused) {
  EXPECT_THROW(pattern_figures(sample_star(), small_scan()), InvalidInput);
}

TEST(OpenFieldOfAnAmplitude, IsItsBrightestEvenPartWhateverTheScaleAndTheNoise) {
  at::manual_seed(3);
  for (const double scale : {0.3, 1.0, 7.0}) {
    at::Tensor amplitude = at::full({100, 100}, 0.6 * scale);
    amplitude.slice(0, 0, 30) = scale;
    amplitude += 0.02 * scale * at::randn({100, 100});
    const auto found = open_field(amplitude, at::ones({100, 100}, at::kBool));
    // The darker part is larger: what is above it forbids to take it for empty.
    EXPECT_FALSE(found.has_value() && found->amplitude < 0.9 * scale) << scale;
    amplitude.slice(0, 0, 60) = scale + 0.02 * scale * at::randn({60, 100});
    const auto larger = open_field(amplitude, at::ones({100, 100}, at::kBool));
    ASSERT_TRUE(larger.has_value());
    EXPECT_NEAR(larger->amplitude, scale, 0.02 * scale);
  }
}

TEST(OpenFieldOfAnAmplitude, IsNotMadeUpWhereNothingIsEven) {
  for (int seed = 0; seed < 100; ++seed) {
    at::manual_seed(seed);
    EXPECT_FALSE(open_field(at::rand({72, 96}) + 0.2, at::ones({72, 96}, at::kBool))) << seed;
  }
  EXPECT_FALSE(open_field(at::zeros({9, 9}), at::zeros({9, 9}, at::kBool)));
}

TEST(AmplitudeFigure, SaysNoSampleOnlyWhereItKnowsWhereThatIs) {
  Reconstruction image = sample_star();
  image.object = image.object * 3;
  Drawing how;
  how.empty = Window{0, 0, 5, 5};
  EXPECT_THROW(amplitude_figure(image, how), InvalidInput);
  how.empty = Window{34, 38, 44, 52};
  const CaptionedFigure named = amplitude_figure(image, how);
  EXPECT_EQ(std::get<ColourBar>(named.figure.key).label, "amplitude (1 = no sample)");
  at::manual_seed(4);
  image.object = at::complex(at::rand({1, 72, 96}) + 0.2, at::zeros({1, 72, 96}));
  EXPECT_EQ(std::get<ColourBar>(amplitude_figure(image).figure.key).label, "amplitude");
}

TEST(Drawing, IsTheSameForAnImageThatIsDrawnLikeAnother) {
  const Drawing how = drawing_of(sample_star());
  Reconstruction other = sample_star();
  other.object = other.object * 1.5;
  const auto bar = [&](const Reconstruction& image) {
    return std::get<ColourBar>(phase_figure(image, how).figure.key);
  };
  EXPECT_EQ(bar(other).low, bar(sample_star()).low);
  EXPECT_EQ(bar(other).high, bar(sample_star()).high);
}

}  // namespace
}  // namespace ptyche
