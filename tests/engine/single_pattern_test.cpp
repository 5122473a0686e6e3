#include "ptyche/engine/single_pattern.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

struct Patterns {
  at::Tensor probes, amplitudes, mask;
};

/// Bright in the middle, as a probe is; amplitudes that no object explains.
Patterns draw(std::int64_t count, std::int64_t modes, std::int64_t size, at::ScalarType type) {
  at::manual_seed(7);
  const at::Tensor axis = at::linspace(-2, 2, size, at::kDouble);
  const at::Tensor bell = (-axis.square()).exp();
  const at::Tensor noise = at::randn({count, modes, size, size}, at::kComplexDouble);
  return {((1 + noise) * 30 * bell.unsqueeze(1) * bell).to(type),
          (at::rand({count, size, size}, at::kDouble) * 20).to(c10::toRealValueType(type)),
          at::rand({size, size}) > 0.05};
}

at::Tensor objects(const Patterns& from, Engine engine) {
  return single_pattern_objects(from.probes, from.amplitudes, from.mask,
                                {.steps = {1, 5}, .engine = engine});
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

TEST(SinglePattern, BothEnginesAgreeAtEverySizeAndNumberOfModes) {
  for (const std::int64_t size : {16, 30, 64, 96})
    for (const std::int64_t modes : {1, 3}) {
      const Patterns exact = draw(5, modes, size, at::kComplexDouble);
      EXPECT_LT(distance(objects(exact, Engine::fused), objects(exact, Engine::reference)), 1e-12)
          << size << " " << modes;
      const Patterns rounded = draw(5, modes, size, at::kComplexFloat);
      EXPECT_LT(distance(objects(rounded, Engine::fused), objects(rounded, Engine::reference)),
                1e-5)
          << size << " " << modes;
    }
}

TEST(SinglePattern, DoesNotSeeWhatStandsUnderTheMask) {
  const Patterns clean = draw(3, 2, 32, at::kComplexFloat);
  Patterns dirty = clean;
  dirty.amplitudes = clean.amplitudes.masked_fill(clean.mask.logical_not(), NAN);
  for (const Engine engine : {Engine::fused, Engine::reference})
    EXPECT_TRUE(at::equal(objects(dirty, engine), objects(clean, engine))) << to_string(engine);
}

TEST(SinglePattern, APatternsObjectDoesNotDependOnTheOthersOfTheCall) {
  const Patterns all = draw(7, 1, 32, at::kComplexFloat);
  const at::Tensor together = objects(all, Engine::fused);
  for (std::int64_t k = 0; k < 7; ++k) {
    const Patterns one{all.probes.slice(0, k, k + 1), all.amplitudes.slice(0, k, k + 1), all.mask};
    EXPECT_TRUE(at::equal(objects(one, Engine::fused)[0], together[k]));
  }
}

TEST(SinglePattern, RefusesStepsOutOfOrder) {
  const Patterns some = draw(1, 1, 16, at::kComplexFloat);
  for (const std::vector<std::int64_t>& steps :
       {std::vector<std::int64_t>{}, {0, 2}, {4, 2}, {3, 3}})
    EXPECT_THROW(single_pattern_objects(some.probes, some.amplitudes, some.mask, {.steps = steps}),
                 InvalidInput);
}

TEST(SinglePattern, GivesTheProbesPrecisionWhateverTheAmplitudesHave) {
  for (const Engine engine : {Engine::fused, Engine::reference}) {
    Patterns some = draw(2, 1, 16, at::kComplexFloat);
    some.amplitudes = some.amplitudes.to(at::kDouble);
    EXPECT_EQ(objects(some, engine).scalar_type(), at::kComplexFloat);
  }
}

TEST(SinglePattern, RefusesShapesThatDoNotFit) {
  const Patterns some = draw(3, 1, 16, at::kComplexFloat);
  Patterns fewer = some, masked = some;
  fewer.amplitudes = some.amplitudes.slice(0, 0, 2);
  masked.mask = at::ones({8, 8}, at::kBool);
  for (const Engine engine : {Engine::fused, Engine::reference}) {
    EXPECT_THROW(objects(fewer, engine), InvalidInput);
    EXPECT_THROW(objects(masked, engine), InvalidInput);
  }
}

}  // namespace
}  // namespace ptyche
