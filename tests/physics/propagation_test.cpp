#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/physics/forward_model.h"
#include "tests/support/checks.h"

namespace ptyche {
namespace {

constexpr double kPi = std::numbers::pi;

/// 1 nm light on pixels of 50 nm; the frame of 64 pixels is good for 160 um.
constexpr NearField kXrays{.wavelength_m = 1e-9, .pixel_m = 50e-9, .distance_m = 40e-6};
/// Pixels of a quarter of the wavelength: frequencies beyond half the band are evanescent.
constexpr NearField kFinePixels{.wavelength_m = 1, .pixel_m = 0.25, .distance_m = 0.3};

/// A Gaussian exp(-r^2 / w^2), (N, N) complex128, w in px.
at::Tensor gaussian(std::int64_t size, double width_px) {
  const at::Tensor axis = at::arange(size, at::kDouble) - static_cast<double>(size / 2);
  const at::Tensor square = axis.square().unsqueeze(1) + axis.square();
  return at::exp(-square / (width_px * width_px)).to(at::kComplexDouble);
}

TEST(NearField, BackPropagationIsItsAdjointInBothPrecisions) {
  for (const NearField& options : {kXrays, kFinePixels}) {
    const auto forward = [&](const at::Tensor& x) { return propagate_near_field(x, options); };
    const auto adjoint = [&](const at::Tensor& y) {
      return propagate_near_field_adjoint(y, options);
    };
    EXPECT_LT(adjoint_mismatch(forward, adjoint, {2, 3, 8, 10}, {2, 3, 8, 10}), 1e-12);
    EXPECT_LT(adjoint_mismatch(forward, adjoint, {2, 3, 8, 10}, {2, 3, 8, 10}, at::kComplexFloat),
              1e-6);
  }
}

TEST(NearField, BackPropagationUndoesItWhereNothingIsEvanescent) {
  const at::Tensor waves = random_tensor({2, 16, 12}, at::kComplexDouble, 1);
  const at::Tensor there = propagate_near_field(waves, kXrays);
  EXPECT_NEAR(there.norm().item().toDouble() / waves.norm().item().toDouble(), 1, 1e-12);
  EXPECT_LT(relative_difference(propagate_near_field_adjoint(there, kXrays), waves), 1e-12);
}

TEST(NearField, OverTwoDistancesIsThatOverTheirSum) {
  const at::Tensor waves = random_tensor({16, 16}, at::kComplexDouble, 1);
  for (NearField options : {kXrays, kFinePixels}) {
    const at::Tensor twice = propagate_near_field(propagate_near_field(waves, options), options);
    options.distance_m *= 2;
    EXPECT_LT(relative_difference(twice, propagate_near_field(waves, options)), 1e-12);
  }
}

// A paraxial Gaussian beam, Saleh & Teich, Fundamentals of Photonics, eq. 3.1-7: its width grows as
// sqrt(1 + (z / z0)^2), z0 = pi w^2 / lambda, its phase on the axis falls by atan(z / z0).
TEST(NearField, SpreadsAGaussianBeamAsTheClosedFormSays) {
  const double width_px = 3.5, width_m = width_px * kXrays.pixel_m;
  const double ratio = kXrays.distance_m * kXrays.wavelength_m / (kPi * width_m * width_m);
  const at::Tensor seen = propagate_near_field(gaussian(64, width_px), kXrays);
  const double grown = std::sqrt(1 + ratio * ratio);
  EXPECT_GT(grown, 1.05);
  const at::Tensor expected = gaussian(64, width_px * grown).abs() / grown;
  EXPECT_LT(relative_difference(seen.abs(), expected), 1e-4);
  EXPECT_NEAR(seen[32][32].angle().item<double>(), -std::atan(ratio), 1e-3);
}

TEST(NearField, LetsEvanescentWavesDecayInBothDirections) {
  // Along the columns, 3 periods in 8 pixels of 1/4: f = 1.5 per wavelength.
  const at::Tensor wave = at::polar(at::ones({8, 8}, at::kDouble),
                                    (2 * kPi * 3 / 8 * at::arange(8, at::kDouble)).expand({8, 8}));
  const double decay = std::exp(-2 * kPi * kFinePixels.distance_m * std::sqrt(1.5 * 1.5 - 1));
  const at::Tensor carrier =
      at::polar(at::full({}, decay, at::kDouble),
                at::full({}, -2 * kPi * kFinePixels.distance_m, at::kDouble));
  EXPECT_LT(relative_difference(propagate_near_field(wave, kFinePixels), carrier * wave), 1e-12);
  EXPECT_LT(
      relative_difference(propagate_near_field_adjoint(wave, kFinePixels), carrier.conj() * wave),
      1e-12);
}

TEST(NearField, KeepsThePhaseOfAFloat32WaveOverALongDistance) {
  const at::Tensor waves = random_tensor({16, 16}, at::kComplexDouble, 1);
  NearField far = kXrays;
  far.distance_m = 1;
  const at::Tensor single = propagate_near_field(waves.to(at::kComplexFloat), far);
  EXPECT_EQ(single.scalar_type(), at::kComplexFloat);
  EXPECT_LT(relative_difference(single.to(at::kComplexDouble), propagate_near_field(waves, far)),
            1e-6);
}

TEST(NearField, HasTheGradientOfCentralDifferences) {
  const at::Tensor waves = random_tensor({2, 6, 8}, at::kComplexDouble, 1);
  const at::Tensor target = random_tensor({2, 6, 8}, at::kDouble, 2).square();
  const auto loss = [&](const at::Tensor& x) {
    return (propagate_near_field(x, kXrays).abs().square() - target).square().sum();
  };
  EXPECT_LT(gradient_mismatch(loss, waves), 1e-6);
}

TEST(NearField, RefusesRealImagesAndImpossibleOptions) {
  const at::Tensor wave = at::zeros({4, 4}, at::kComplexFloat);
  EXPECT_THROW(propagate_near_field(at::zeros({4, 4}), kXrays), InvalidInput);
  EXPECT_THROW(propagate_near_field(wave[0], kXrays), InvalidInput);
  EXPECT_THROW(propagate_near_field(wave, {0, 1, 1}), InvalidInput);
  EXPECT_THROW(propagate_near_field(wave, {1, 0, 1}), InvalidInput);
  EXPECT_THROW(propagate_near_field(wave, {1, 1, NAN}), InvalidInput);
}

}  // namespace
}  // namespace ptyche
