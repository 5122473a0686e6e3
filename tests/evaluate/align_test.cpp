#include "ptyche/evaluate/align.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/evaluate/image_error.h"
#include "tests/evaluate/blobs.h"

namespace ptyche {
namespace {

const Window kMiddle{32, 96, 36, 92};

double error_of(const Alignment& alignment) {
  return nrmse_contrast(alignment.truth, alignment.aligned);
}

class AlignPlanted : public testing::TestWithParam<Planted> {};

TEST_P(AlignPlanted, IsRemovedAndFound) {
  const Planted planted = GetParam();
  // Wider than the truth by 20 px on each side, so that it holds the window's surroundings.
  Planted wider = planted;
  wider.shift_row -= 20;
  wider.shift_col -= 20;
  const Alignment found = align(blobs(128, 128), blobs(168, 168, wider), kMiddle);
  EXPECT_LT(error_of(found), 1e-6);
  EXPECT_NEAR(found.gauge.shift_row_px, wider.shift_row, 1e-5);
  EXPECT_NEAR(found.gauge.shift_col_px, wider.shift_col, 1e-5);
  EXPECT_NEAR(found.gauge.ramp_row_cycles_per_px, -planted.ramp_row, 1e-8);
  EXPECT_NEAR(found.gauge.ramp_col_cycles_per_px, -planted.ramp_col, 1e-8);
  EXPECT_NEAR(std::abs(found.gauge.scale) * std::abs(planted.scale), 1, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Gauges, AlignPlanted,
                         testing::Values(Planted{}, Planted{3.37, -5.81, 0, 0, {2, -1}},
                                         Planted{0, 0, 0.013, -0.021, {0, 0.3}},
                                         Planted{-7.42, 4.9, 0.0071, 0.0193, {-0.02, 0.045}},
                                         Planted{20.25, -15.5, -0.04, 0.03, {7, 0}}));

TEST(StrongestFrequency, IsThatOfTheTransformOfThePaddedField) {
  for (const std::int64_t padding : {1, 4})
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      at::manual_seed(seed);
      const at::Tensor turns = at::rand({2}, at::kDouble) - 0.5;
      const at::Tensor angle = 2 * std::numbers::pi *
                               (turns[0] * at::arange(48, at::kDouble).unsqueeze(1) +
                                turns[1] * at::arange(38, at::kDouble));
      const at::Tensor field = at::polar(at::full_like(angle, 0.4), angle) +
                               at::complex(at::randn_like(angle), at::randn_like(angle));
      const at::Tensor padded = at::fft_fft2(field, {padding * 48, padding * 38}).abs();
      const auto peak = peak_of(padded);
      const auto found = strongest_frequency(field, padding);
      for (const std::size_t axis : {0, 1}) {
        const double there = static_cast<double>(peak[axis]) /
                             static_cast<double>(padded.size(static_cast<std::int64_t>(axis)));
        EXPECT_NEAR(std::remainder(found[axis] - there, 1), 0, 1e-9) << padding << " " << seed;
        EXPECT_GE(found[axis], -0.5);
        EXPECT_LT(found[axis], 0.5);
      }
    }
}

TEST(Align, CountsTheRampFromTheMiddleOfTheWindow) {
  const Alignment found = align(blobs(128, 128), blobs(128, 128, {0, 0, 0.01, 0.02}), kMiddle);
  // The removed ramp is 1 at (64, 64), where the planted one is exp(2 pi i (0.64 + 1.28)).
  EXPECT_NEAR(std::abs(found.gauge.scale - std::polar(1.0, -2 * M_PI * 1.92)), 0, 1e-5);
}

TEST(Realign, DoesNotLookWhereTheWeightIsZero) {
  const at::Tensor truth = blobs(128, 128);
  at::Tensor image = blobs(128, 128, {0.4, -0.7, 0.001, 0.002, {2, -1}});
  at::Tensor weights = at::ones({kMiddle.rows(), kMiddle.cols()}, at::kDouble);
  const Alignment clean = realign(truth, image, kMiddle, {});
  // A smooth bright spot inside the window, and no weight where it is.
  const at::Tensor row = at::arange(128, at::kDouble).unsqueeze(1) - 64,
                   col = at::arange(128, at::kDouble) - 50;
  image = image + 3 * at::exp(-(row.square() + col.square()) / 8);
  weights.slice(0, 20, 44).slice(1, 2, 26).zero_();
  const Alignment weighed = realign(truth, image, kMiddle, {}, 1e-13, weights);
  EXPECT_NEAR(weighed.gauge.shift_row_px, clean.gauge.shift_row_px, 1e-3);
  EXPECT_NEAR(weighed.gauge.shift_col_px, clean.gauge.shift_col_px, 1e-3);
  EXPECT_NEAR(std::abs(weighed.gauge.scale - clean.gauge.scale), 0, 1e-3);
  EXPECT_GT(std::abs(realign(truth, image, kMiddle, {}).gauge.scale - clean.gauge.scale), 4e-3);
}

/// Independent complex numbers without any order, (size, size): nothing of it is smooth.
at::Tensor rough(std::int64_t size) {
  const at::Tensor grid = at::arange(size * size, at::kDouble).view({size, size});
  return at::complex((0.37 * grid.square()).sin() + 2, (0.611 * grid.square()).sin());
}

/// `image` moved by the Fourier shift of its whole size, then ramped.
at::Tensor moved_periodically(const at::Tensor& image, double rows, double cols, double ramp) {
  const at::Tensor frequency = at::fft_fftfreq(image.size(0), 1.0, at::kDouble);
  const at::Tensor angle = -2 * M_PI * (rows * frequency.unsqueeze(1) + cols * frequency);
  const at::Tensor turns = at::fft_fft2(image) * at::polar(at::ones_like(angle), angle);
  const at::Tensor slope = 2 * M_PI * ramp * at::arange(image.size(1), at::kDouble);
  return at::fft_ifft2(turns) * at::polar(at::ones_like(slope), slope);
}

TEST(Align, UndoesAFourierShiftOfAnImageThatIsNotSmooth) {
  const at::Tensor truth = rough(128);
  const Alignment found = align(truth, moved_periodically(truth, 3.37, -5.81, 0.0193), kMiddle);
  EXPECT_LT(error_of(found), 1e-6);
  EXPECT_NEAR(found.gauge.shift_row_px, -3.37, 1e-6);
  EXPECT_NEAR(found.gauge.shift_col_px, 5.81, 1e-6);
  EXPECT_NEAR(found.gauge.ramp_col_cycles_per_px, -0.0193, 1e-8);
  // The ramp is counted from column 64, after the shift.
  EXPECT_NEAR(std::abs(found.gauge.scale), 1, 1e-6);
  EXPECT_NEAR(std::arg(found.gauge.scale * std::polar(1.0, 2 * M_PI * 0.0193 * (64 - 5.81))), 0,
              1e-5);
}

TEST(Align, TakesImagesOfAnotherShape) {
  const at::Tensor image = blobs(97, 110, {10.3, 5.6, 0, 0, {0, 3}});
  EXPECT_LT(error_of(align(blobs(128, 128), image, {40, 80, 40, 80})), 1e-5);
}

TEST(Align, DoesNotForgiveAConjugatedObject) {
  const at::Tensor truth = blobs(128, 128);
  EXPECT_GT(error_of(align(truth, truth.conj(), kMiddle)), 0.7);
}

TEST(Align, DoesNotForgiveATransposedObject) {
  const at::Tensor truth = blobs(128, 128);
  EXPECT_GT(error_of(align(truth, truth.t(), kMiddle)), 0.8);
}

TEST(Align, LeavesTheErrorOfANoisyObject) {
  const at::Tensor truth = blobs(128, 128);
  const at::Tensor grid = at::arange(128 * 128, at::kDouble).view({128, 128});
  // Whiteness is enough: sin of a fast quadratic phase, mean square 1/2.
  const at::Tensor noise = (0.37 * grid.square()).sin() * 0.1;
  const Alignment found = align(truth, truth + noise, kMiddle);
  const at::Tensor planted = cut(noise, kMiddle);
  EXPECT_NEAR((found.truth - found.aligned).norm().item<double>() / planted.norm().item<double>(),
              1, 0.05);
}

TEST(Align, GivesAFlatObjectNoCredit) {
  const at::Tensor truth = blobs(128, 128);
  const double error = error_of(align(truth, at::ones({128, 128}, at::kComplexFloat), kMiddle));
  EXPECT_GE(error, 0.9);
  EXPECT_LE(error, 1 + 1e-12);
}

TEST(Align, SurvivesADarkImage) {
  const at::Tensor truth = blobs(128, 128);
  const Alignment found = align(truth, at::zeros({128, 128}, at::kComplexFloat), kMiddle);
  EXPECT_DOUBLE_EQ(nrmse(found.truth, found.aligned), 1);
}

TEST(Align, RefusesAWindowThatLeavesTheTruth) {
  const at::Tensor truth = blobs(64, 64);
  EXPECT_THROW(align(truth, truth, {32, 65, 0, 64}), InvalidInput);
  EXPECT_THROW(align(truth, truth, {10, 12, 0, 64}), InvalidInput);
}

/// Smooth noise that hardly differs from place to place.
at::Tensor texture(std::uint64_t seed) {
  at::manual_seed(seed);
  const at::Tensor axis = at::fft_fftfreq(128, 1.0, at::kDouble).square();
  const at::Tensor fade = (-(axis.unsqueeze(1) + axis) * 200).exp();
  const at::Tensor smooth =
      at::real(at::fft_ifft2(at::fft_fft2(at::randn({128, 128}, at::kComplexDouble)) * fade));
  return at::polar(at::ones_like(smooth), 0.3 * smooth / smooth.std());
}

TEST(CoarseShift, OfLargeImagesIsFoundToThePixelAndStaysWhereTheMiddleIsFlat) {
  at::manual_seed(5);
  const auto field = [](std::int64_t side) {
    const at::Tensor noise = at::randn({side, side}, at::kComplexFloat);
    return at::ones_like(noise) + 0.3 * noise;
  };
  const at::Tensor image = field(1300);
  for (const std::array<std::int64_t, 2> place : {std::array<std::int64_t, 2>{117, 240}, {0, 1}}) {
    const at::Tensor part =
        image.narrow(0, place[0], 1000).narrow(1, place[1], 1001) + 0.1 * field(1001).slice(0, 1);
    EXPECT_EQ(coarse_shift(part, image), (std::array<std::int64_t, 2>{-place[0], -place[1]}));
  }
  at::Tensor part = image.narrow(0, 40, 1000).narrow(1, 80, 1000).clone();
  part.narrow(0, 350, 300).narrow(1, 350, 300).fill_(1);
  const auto shift = coarse_shift(part, image);
  EXPECT_NEAR(static_cast<double>(shift[0]), -40, 1);
  EXPECT_NEAR(static_cast<double>(shift[1]), -80, 1);
}

TEST(Align, FindsASmallPartOfANoisyImageWhereTheFilesSayThatItLies) {
  const Window small{56, 80, 56, 80};
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const at::Tensor truth = texture(seed);
    const at::Tensor image = truth + 0.25 * at::randn({128, 128}, at::kComplexDouble);
    const Alignment found = align(truth, image, small, std::array<std::int64_t, 2>{0, 0});
    EXPECT_LT(std::abs(found.gauge.shift_row_px), 4) << seed;
    EXPECT_LT(std::abs(found.gauge.shift_col_px), 4) << seed;
  }
}

}  // namespace
}  // namespace ptyche
