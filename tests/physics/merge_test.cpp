// Merging keeps groups apart and gives back an object whose patches agree.
#include "ptyche/physics/merge.h"

#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "ptyche/physics/patches.h"
#include "tests/support/checks.h"

namespace ptyche {
namespace {

constexpr std::int64_t kSize = 8;

/// Positions of `groups` groups of `size` patterns, whole pixels, all around the same place.
at::Tensor positions_of(std::int64_t groups, std::int64_t size) {
  return random_tensor({groups * size, 2}, at::kDouble, 7).mul(3).round() + 40;
}

at::Tensor patches_of(const at::Tensor& object, const at::Tensor& positions) {
  return extract_patches(object, positions - kSize / 2.0, kSize);
}

/// Group g is cut from an object that is g + 1 times the same one.
class Merge : public testing::TestWithParam<std::tuple<std::int64_t, std::int64_t>> {};

TEST_P(Merge, NeverMixesGroups) {
  const auto [groups, size] = GetParam();
  const at::Tensor object = random_tensor({80, 80}, at::kComplexDouble, 1);
  const at::Tensor positions = positions_of(groups, size);
  const at::Tensor group = at::arange(groups, at::kLong).repeat_interleave(size);
  const at::Tensor factor = (group + 1).to(at::kDouble).view({-1, 1, 1});
  const at::Tensor patches = patches_of(object, positions) * factor;
  const CanvasLayout layout = lay_out(positions, group, groups, kSize);
  const at::Tensor merged = merge(patches, at::ones_like(at::real(patches)), layout);
  EXPECT_LT(relative_difference(extract(merged, layout), patches), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(BatchesOfAnySize, Merge,
                         testing::Combine(testing::Values(1, 2, 3, 7, 16, 63, 64, 65, 130),
                                          testing::Values(1, 4, 9)));

TEST(MergeWeights, LeavePatchesThatAgreeAsTheyAre) {
  const at::Tensor object = random_tensor({80, 80}, at::kComplexDouble, 1);
  const at::Tensor positions = positions_of(1, 6), group = at::zeros({6}, at::kLong);
  const at::Tensor patches = patches_of(object, positions);
  const at::Tensor weights = random_tensor({6, kSize, kSize}, at::kDouble, 3).square() + 0.1;
  const CanvasLayout layout = lay_out(positions, group, 1, kSize);
  EXPECT_LT(relative_difference(extract(merge(patches, weights, layout), layout), patches), 1e-12);
}

TEST(MergeWeights, DecideBetweenPatchesThatDiffer) {
  const at::Tensor positions = at::full({2, 2}, 10.0, at::kDouble);
  const CanvasLayout layout = lay_out(positions, at::zeros({2}, at::kLong), 1, 2);
  at::Tensor patches = at::ones({2, 2, 2}, at::kComplexDouble),
             weights = at::ones({2, 2, 2}, at::kDouble);
  patches[1].fill_(5);
  weights[1].fill_(3);
  EXPECT_LT(relative_difference(merge(patches, weights, layout)[0],
                                at::full({2, 2}, (1 * 1 + 3 * 5) / 4.0, at::kComplexDouble)),
            1e-12);
}

TEST(MergeDark, IsOneWhereNoProbeShines) {
  const at::Tensor positions = at::full({1, 2}, 10.0, at::kDouble);
  const CanvasLayout layout = lay_out(positions, at::zeros({1}, at::kLong), 1, 2);
  const at::Tensor patches = at::full({1, 2, 2}, 9, at::kComplexDouble);
  at::Tensor weights = at::ones({1, 2, 2}, at::kDouble);
  weights[0][0][1] = 0;
  EXPECT_EQ(merge(patches, weights, layout)[0][0][1].item<c10::complex<double>>(),
            c10::complex<double>(1));
}

TEST(LayOut, TakesGroupsOfDifferentSizes) {
  const at::Tensor object = random_tensor({80, 80}, at::kComplexDouble, 1);
  const at::Tensor positions = positions_of(1, 7);
  const at::Tensor group = at::tensor({1, 0, 1, 1, 2, 1, 0}, at::kLong);
  const at::Tensor patches = patches_of(object, positions);
  const CanvasLayout layout = lay_out(positions, group, 3, kSize);
  const at::Tensor merged = merge(patches, at::ones_like(at::real(patches)), layout);
  EXPECT_LT(relative_difference(extract(merged, layout), patches), 1e-12);
}

TEST(LayOut, NamesBothShapesThatDoNotMatch) {
  try {
    lay_out(at::zeros({4, 2}, at::kDouble), at::zeros({3}, at::kLong), 1, kSize);
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find("4 x 2 and 3"), std::string::npos) << error.what();
  }
}

TEST(LayOut, RefusesAGroupNumberOutOfRange) {
  EXPECT_THROW(lay_out(at::zeros({2, 2}, at::kDouble), at::tensor({0, 2}, at::kLong), 2, kSize),
               InvalidInput);
}

TEST(MergeGradient, IsThatOfCentralDifferences) {
  const at::Tensor positions = positions_of(2, 3);
  const at::Tensor group = at::arange(2, at::kLong).repeat_interleave(3);
  const at::Tensor weights = random_tensor({6, kSize, kSize}, at::kDouble, 3).square() + 0.1;
  const CanvasLayout layout = lay_out(positions, group, 2, kSize);
  const auto loss = [&](const at::Tensor& x) {
    return at::real(extract(merge(x, weights, layout), layout)).pow(3).sum();
  };
  EXPECT_LT(gradient_mismatch(loss, random_tensor({6, kSize, kSize}, at::kComplexDouble, 4)), 1e-6);
}

}  // namespace
}  // namespace ptyche
