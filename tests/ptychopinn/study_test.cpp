#include "ptyche/ptychopinn/study.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/report/decoded_png.h"
#include "tests/report/sample.h"
#include "tests/support/refusal.h"

namespace ptyche {
namespace {

at::Tensor star() { return sample_star().projection(); }

/// The star in another gauge: scale 3, phase and ramp.
at::Tensor turned_star() {
  const at::Tensor plane = 0.03 * at::arange(96) + 0.7;
  return star() * at::polar(at::full({72, 96}, 3.0), plane.expand({72, 96}).contiguous());
}

std::string refusal(const std::vector<LabelledObject>& objects) {
  return message_of([&] { amplitude_phase_picture(objects); });
}

TEST(AmplitudePhaseFigures, HaveAColumnForEachObjectInOneRangeOfColours) {
  const auto [amplitude, phase] =
      amplitude_phase_figures({{"truth", star()}, {"pinn", 2 * star()}, {"flat", star() * 0}});
  for (const CaptionedFigure& row : {amplitude, phase}) {
    ASSERT_EQ(row.figure.panels.size(), 3u);
    EXPECT_EQ(row.figure.panels[1].title, "pinn");
    EXPECT_EQ(row.figure.panels[0].rgb.sizes(), at::IntArrayRef({72, 96, 3}));
  }
  const auto& bar = std::get<ColourBar>(amplitude.figure.key);
  EXPECT_NEAR(bar.low, 0, 1e-6);
  EXPECT_NEAR(bar.high, 1, 1e-6);
}

TEST(AmplitudePhaseFigures, ShowAPerfectImageAsTheTruthWhateverItsGauge) {
  const auto rows = amplitude_phase_figures({{"truth", star()}, {"pinn", turned_star()}});
  for (const CaptionedFigure& row : {rows.amplitude, rows.phase}) {
    const auto& panels = row.figure.panels;
    EXPECT_LT((panels[0].rgb - panels[1].rgb).abs().max().item<float>(), 0.02);
    EXPECT_GT(panels[0].rgb.std().item<float>(), 0.1);
  }
}

TEST(AmplitudePhaseFigures, DrawAPhaseThatIsZeroAsZeroAndItsNoiseNearIt) {
  at::manual_seed(1);
  const at::Tensor flat = at::ones({72, 96}, at::kComplexFloat);
  const at::Tensor noisy = at::polar(at::ones({72, 96}), 0.01 * at::randn({72, 96}));
  const auto phase = amplitude_phase_figures({{"truth", flat}, {"pinn", noisy}}).phase.figure;
  const auto& bar = std::get<ColourBar>(phase.key);
  EXPECT_EQ(bar.low, -0.5);
  EXPECT_EQ(bar.high, 0.5);
  const at::Tensor zero = colours(bar.map, at::zeros({1}), bar.low, bar.high);
  EXPECT_LT((phase.panels[0].rgb - zero).abs().max().item<float>(), 0.01);
  EXPECT_LT((phase.panels[1].rgb - zero).abs().max().item<float>(), 0.1);
}

TEST(AmplitudePhasePicture, StandsTheRowsBelowEachOther) {
  const auto rows = amplitude_phase_figures({{"truth", star()}, {"pinn", star()}});
  const DecodedPng both =
      decode_png(amplitude_phase_picture({{"truth", star()}, {"pinn", star()}}).png);
  const DecodedPng top = decode_png(render_png(rows.amplitude.figure));
  const DecodedPng bottom = decode_png(render_png(rows.phase.figure));
  EXPECT_EQ(both.rows, top.rows + bottom.rows);
  EXPECT_EQ(both.cols, std::max(top.cols, bottom.cols));
  EXPECT_TRUE(std::equal(top.pixels.begin(), top.pixels.end(), both.pixels.begin()));
}

TEST(AmplitudePhasePicture, GrowsWiderWithTheModelsNotTaller) {
  const auto drawn = [](std::size_t count) {
    const std::vector<LabelledObject> objects(count, {"model", star()});
    return decode_png(amplitude_phase_picture(objects).png);
  };
  const DecodedPng three = drawn(3), six = drawn(6);
  EXPECT_EQ(six.rows, three.rows);
  EXPECT_GT(six.cols, 1.8 * three.cols);
}

TEST(AmplitudePhasePicture, RefusesAnEmptyPanelByName) {
  EXPECT_EQ(refusal({{"truth", star()}, {"pinn", at::Tensor()}}),
            "'pinn': expected a complex object (rows, cols) to draw, found none");
  EXPECT_EQ(refusal({{"truth", at::zeros({0, 4}, at::kComplexFloat)}}),
            "'truth': expected a complex object (rows, cols) to draw, found none");
  at::Tensor broken = star().clone();
  broken[3][4] = std::nan("");
  EXPECT_EQ(refusal({{"truth", star()}, {"pinn", star()}, {"baseline", broken}}),
            "'baseline': expected finite values to draw, found NaN or infinity");
  EXPECT_EQ(refusal({{"truth", star()}, {"pinn", star().narrow(0, 0, 70)}}),
            "'pinn': expected the 72 x 96 pixels of 'truth', found 70 x 96");
  EXPECT_EQ(refusal({}), "amplitude and phase: expected at least one object, found none");
}

}  // namespace
}  // namespace ptyche
