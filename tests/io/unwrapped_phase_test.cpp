#include "ptyche/io/unwrapped_phase.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptyche {
namespace {

/// A hill of `height` rad.
at::Tensor hill(double height) {
  const at::Tensor x = at::arange(60, at::kDouble) - 30, y = at::arange(50, at::kDouble) - 20;
  return height * (-(x.square().unsqueeze(1) + y.square()) / 300).exp();
}

at::Tensor object_of(const at::Tensor& phase) { return at::polar(at::ones_like(phase), phase); }

double error_of(const at::Tensor& found, const at::Tensor& wanted) {
  const at::Tensor off = found - wanted;
  return (off - off.median()).abs().max().item<double>();
}

TEST(UnwrappedPhase, IsThePhaseWhereNeighboursDifferByLessThanPi) {
  for (const double height : {1.0, 7.0, 13.0, -21.0})
    EXPECT_LT(error_of(unwrapped_phase(object_of(hill(height))), hill(height)), 1e-9) << height;
  const at::Tensor ramp = 0.9 * at::arange(50, at::kDouble).expand({30, 50});
  EXPECT_LT(error_of(unwrapped_phase(object_of(ramp.contiguous())), ramp), 1e-9);
}

TEST(UnwrappedPhase, IsNotLedAstrayByDarkPixelsWithNoise) {
  at::manual_seed(1);
  const at::Tensor phase = hill(15);
  at::Tensor lit = at::ones({60, 50}, at::kBool);
  lit.narrow(1, 0, 8).fill_(false);
  const at::Tensor noise = at::rand({60, 50}, at::kDouble) * 6.28;
  const at::Tensor found = unwrapped_phase(object_of(at::where(lit, phase, noise)), lit);
  EXPECT_LT(error_of(found.masked_select(lit), phase.masked_select(lit)), 1e-9);
  EXPECT_LE(std::abs(found.masked_select(lit).median().item<double>()), M_PI);
}

TEST(UnwrappedPhase, KeepsTheAngleOfEveryPixel) {
  at::manual_seed(2);
  const at::Tensor object =
      at::complex(at::randn({21, 17}, at::kDouble), at::randn({21, 17}, at::kDouble));
  const at::Tensor turns = (unwrapped_phase(object) - at::angle(object)) / (2 * M_PI);
  EXPECT_LT((turns - turns.round()).abs().max().item<double>(), 1e-9);
}

}  // namespace
}  // namespace ptyche
