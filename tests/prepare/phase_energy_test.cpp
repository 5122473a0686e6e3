// What all patterns of a raster agree on, at the right turn and defocus and at wrong ones.
#include "ptyche/prepare/phase_energy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "tests/prepare/turned_raster.h"

namespace ptyche {
namespace {

constexpr RasterShape kShape{kSide, kSide};
// beam(60)'s phase at the rim, where q^2 = .06.
constexpr Aberrations kTrue{.defocus = 60 * 0.06};

double energy_at(const RasterEnergy& energy, const PhaseGradients& gradients, double degrees,
                 bool transposed = false) {
  return energy.energy(energy.pairs(gradients), degrees, transposed).sum().item<double>();
}

double error_of(const PhaseGradients& gradients) {
  return std::sqrt(gradients.powers.square().sum().item<double>());
}

TEST(PhaseEnergy, IsFarAboveNoiseAtTheTrueTurnAlone) {
  const RasterEnergy energy(turned_raster({.degrees = 33}, 1e4), kShape);
  const PhaseGradients gradients = energy.gradients(kTrue);
  const double right = energy_at(energy, gradients, 33);
  EXPECT_GT(right, 10 * error_of(gradients));
  for (const double wrong : {-57.0, 63.0, 123.0})
    EXPECT_LT(energy_at(energy, gradients, wrong), right / 2) << wrong;
  EXPECT_LT(energy_at(energy, gradients, 33, true), right / 2);
}

TEST(PhaseEnergy, OfTheOppositeTurnIsThatOfTheTwinAtTheOppositeDefocus) {
  const RasterEnergy energy(turned_raster({.degrees = 33}, 1e4), kShape);
  const double right = energy_at(energy, energy.gradients(kTrue), 33);
  const double twin = energy_at(energy, energy.gradients({.defocus = -kTrue.defocus}), 213);
  EXPECT_NEAR(twin / right, 1, 0.05);
}

TEST(PhaseEnergy, OfPatternsWithRandomSignsIsNoiseOfTheStatedSize) {
  const RasterEnergy energy(turned_raster({.degrees = 33}, 1e4), kShape);
  const PhaseGradients noise = energy.with_random_signs(energy.gradients(kTrue));
  double squares = 0;
  for (int turn = 0; turn < 36; ++turn)
    squares += std::pow(energy_at(energy, noise, 10 * turn) / error_of(noise), 2) / 36;
  EXPECT_LT(std::sqrt(squares), 3);
  EXPECT_GT(std::sqrt(squares), 0.2);
}

/// Laid on the sample, patterns have in common what the raster's pairs have, but for the pairs that
/// lie too far apart for it.
TEST(PhaseEnergy, OfMapsLaidInTheirPlacesIsThatOfTheRastersPairs) {
  const RasterEnergy energy(turned_raster({}, 1e4), kShape);
  const PhaseGradients gradients = energy.gradients(kTrue);
  const std::vector<double> alike(PhaseEnergy::kRings, 1);
  const at::Tensor maps = energy.maps(gradients, alike).to(at::kDouble);
  const at::Tensor places =
      (energy.positions() - std::get<0>(energy.positions().min(0))).round().to(at::kLong);
  const std::int64_t size = maps.size(1), side = places.max().item<std::int64_t>() + size;
  at::Tensor canvas = at::zeros({side, side}, at::kDouble);
  for (std::int64_t j = 0; j < maps.size(0); ++j)
    canvas.narrow(0, places[j][0].item<std::int64_t>(), size)
        .narrow(1, places[j][1].item<std::int64_t>(), size) += maps[j];
  const double laid = canvas.square().sum().item<double>() - maps.square().sum().item<double>();
  EXPECT_NEAR(laid / energy_at(energy, gradients, 0), 1, 0.1);
  EXPECT_NEAR(maps.square().sum().item<double>() / gradients.powers.sum().item<double>(), 1, 1e-3);
}

TEST(PhaseEnergy, FindsThePhaseOfItsOwnProbeAgain) {
  const RasterEnergy energy(turned_raster({}, 1e4), kShape);
  const PhaseGradients one = energy.gradients(kTrue),
                       other = energy.gradients(energy.phase_of(energy.probe(kTrue)));
  EXPECT_LT((one.spectra - other.spectra).abs().max().item<double>(),
            1e-3 * one.spectra.abs().max().item<double>());
}

}  // namespace
}  // namespace ptyche
