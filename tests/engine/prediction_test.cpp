#include "ptyche/engine/prediction.h"

#include <gtest/gtest.h>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

struct PredictionCase {
  std::int64_t size = 16, modes = 1;
  Interpolation interpolation = Interpolation::probe_fourier;
  bool background = false;
  Propagation propagation = FarField{};
};

/// The largest difference from predict_intensity, over its largest number.
double difference(const PredictionCase& given, at::ScalarType type) {
  at::manual_seed(3);
  const std::int64_t size = given.size, patterns = 5;
  const at::Tensor object = at::randn({2 * size, 2 * size + 6}, at::dtype(type));
  const at::Tensor probe = at::randn({given.modes, size, size}, at::dtype(type));
  const at::Tensor positions =
      size / 2 + 2 + at::rand({patterns, 2}, at::kDouble) * static_cast<double>(size - 5);
  const at::Tensor background =
      given.background ? at::rand({size, size}, at::kDouble) : at::Tensor();
  const at::Tensor found = expected_intensity(object, probe, positions, given.interpolation,
                                              background, given.propagation);
  const at::Tensor plain = predict_intensity(object, probe, positions, given.interpolation,
                                             background, given.propagation);
  EXPECT_EQ(found.scalar_type(), c10::toRealValueType(type));
  return ((found - plain).abs().max() / plain.abs().max()).item<double>();
}

TEST(ExpectedIntensity, IsThatOfTheReferenceModel) {
  const NearField near{.wavelength_m = 1e-10, .pixel_m = 1e-7, .distance_m = 1e-3};
  for (const PredictionCase& each :
       {PredictionCase{}, PredictionCase{.modes = 3, .background = true},
        PredictionCase{.interpolation = Interpolation::bilinear, .background = true},
        PredictionCase{.size = 30, .modes = 2}, PredictionCase{.size = 22, .propagation = near},
        PredictionCase{
            .modes = 2, .interpolation = Interpolation::bilinear, .propagation = near}}) {
    EXPECT_LT(difference(each, at::kComplexDouble), 1e-11) << each.size << " " << each.modes;
    EXPECT_LT(difference(each, at::kComplexFloat), 1e-5) << each.size << " " << each.modes;
  }
}

TEST(ExpectedIntensity, OfASizeWithoutAFastTransformIsThatOfTheReferenceModel) {
  EXPECT_EQ(difference({.size = 2 * 521}, at::kComplexFloat), 0);
}

TEST(ExpectedIntensity, RefusesAPatternThatLeavesTheObject) {
  const at::Tensor object = at::ones({32, 32}, at::kComplexDouble),
                   probe = at::ones({1, 16, 16}, at::kComplexDouble);
  EXPECT_THROW(expected_intensity(object, probe, at::full({1, 2}, 30.0, at::kDouble),
                                  Interpolation::probe_fourier, {}, FarField{}),
               InvalidInput);
}

}  // namespace
}  // namespace ptyche
