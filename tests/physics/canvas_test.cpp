// Merging keeps groups apart and gives back an object whose patches agree.
#include "ptyche/physics/canvas.h"

#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "tests/support/checks.h"

namespace ptyche {
namespace {

constexpr std::int64_t kSize = 8;
constexpr Interpolation kWhole = Interpolation::probe_fourier;

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
  const CanvasLayout layout = lay_out(positions, group, groups, kSize, kWhole);
  const at::Tensor merged = merge_patches(patches, at::ones_like(at::real(patches)), layout);
  EXPECT_LT(relative_difference(extract_patches(merged, layout), patches), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(BatchesOfAnySize, Merge,
                         testing::Combine(testing::Values(1, 2, 3, 7, 16, 63, 64, 65, 130),
                                          testing::Values(1, 4, 9)));

TEST(MergeWeights, LeavePatchesThatAgreeAsTheyAre) {
  const at::Tensor object = random_tensor({80, 80}, at::kComplexDouble, 1);
  const at::Tensor positions = positions_of(1, 6), group = at::zeros({6}, at::kLong);
  const at::Tensor patches = patches_of(object, positions);
  const at::Tensor weights = random_tensor({6, kSize, kSize}, at::kDouble, 3).square() + 0.1;
  const CanvasLayout layout = lay_out(positions, group, 1, kSize, kWhole);
  EXPECT_LT(relative_difference(extract_patches(merge_patches(patches, weights, layout), layout),
                                patches),
            1e-12);
}

TEST(MergeWeights, DecideBetweenPatchesThatDiffer) {
  const at::Tensor positions = at::full({2, 2}, 10.0, at::kDouble);
  const CanvasLayout layout = lay_out(positions, at::zeros({2}, at::kLong), 1, 2, kWhole);
  at::Tensor patches = at::ones({2, 2, 2}, at::kComplexDouble),
             weights = at::ones({2, 2, 2}, at::kDouble);
  patches[1].fill_(5);
  weights[1].fill_(3);
  EXPECT_LT(relative_difference(merge_patches(patches, weights, layout)[0],
                                at::full({2, 2}, (1 * 1 + 3 * 5) / 4.0, at::kComplexDouble)),
            1e-12);
}

TEST(MergeDark, IsOneWhereNoProbeShines) {
  const at::Tensor positions = at::full({1, 2}, 10.0, at::kDouble);
  const CanvasLayout layout = lay_out(positions, at::zeros({1}, at::kLong), 1, 2, kWhole);
  const at::Tensor patches = at::full({1, 2, 2}, 9, at::kComplexDouble);
  at::Tensor weights = at::ones({1, 2, 2}, at::kDouble);
  weights[0][0][1] = 0;
  EXPECT_EQ(merge_patches(patches, weights, layout)[0][0][1].item<c10::complex<double>>(),
            c10::complex<double>(1));
}

TEST(LayOut, TakesGroupsOfDifferentSizes) {
  const at::Tensor object = random_tensor({80, 80}, at::kComplexDouble, 1);
  const at::Tensor positions = positions_of(1, 7);
  const at::Tensor group = at::tensor({1, 0, 1, 1, 2, 1, 0}, at::kLong);
  const at::Tensor patches = patches_of(object, positions);
  const CanvasLayout layout = lay_out(positions, group, 3, kSize, kWhole);
  const at::Tensor merged = merge_patches(patches, at::ones_like(at::real(patches)), layout);
  EXPECT_LT(relative_difference(extract_patches(merged, layout), patches), 1e-12);
}

TEST(LayOut, NamesBothShapesThatDoNotMatch) {
  try {
    lay_out(at::zeros({4, 2}, at::kDouble), at::zeros({3}, at::kLong), 1, kSize, kWhole);
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find("4 x 2 and 3"), std::string::npos) << error.what();
  }
}

TEST(LayOut, RefusesAGroupNumberOutOfRange) {
  EXPECT_THROW(
      lay_out(at::zeros({2, 2}, at::kDouble), at::tensor({0, 2}, at::kLong), 2, kSize, kWhole),
      InvalidInput);
}

TEST(MergeGradient, IsThatOfCentralDifferences) {
  const at::Tensor positions = positions_of(2, 3);
  const at::Tensor group = at::arange(2, at::kLong).repeat_interleave(3);
  const at::Tensor weights = random_tensor({6, kSize, kSize}, at::kDouble, 3).square() + 0.1;
  const CanvasLayout layout = lay_out(positions, group, 2, kSize, kWhole);
  const auto loss = [&](const at::Tensor& x) {
    return at::real(extract_patches(merge_patches(x, weights, layout), layout)).pow(3).sum();
  };
  EXPECT_LT(gradient_mismatch(loss, random_tensor({6, kSize, kSize}, at::kComplexDouble, 4)), 1e-6);
}

/// Two ragged groups between pixels.
struct BetweenPixels {
  at::Tensor positions = random_tensor({7, 2}, at::kDouble, 21).mul(2.3);
  at::Tensor group = at::tensor({0, 0, 1, 1, 1, 1, 1}, at::kLong);
  at::Tensor weights = random_tensor({kSize, kSize}, at::kDouble, 3).square() + 0.1;

  CanvasLayout layout() const {
    return lay_out(positions, group, 2, kSize, Interpolation::bilinear);
  }
};

TEST(BilinearExtract, SpreadIsItsAdjoint) {
  const CanvasLayout layout = BetweenPixels().layout();
  const auto forward = [&](const at::Tensor& x) { return extract_patches(x, layout); };
  const auto adjoint = [&](const at::Tensor& y) { return add_patches(y, layout); };
  EXPECT_LT(adjoint_mismatch(forward, adjoint, {2, layout.rows, layout.cols}, {7, kSize, kSize}),
            1e-12);
}

TEST(BilinearMerge, HasTheGradientOfCentralDifferencesInPatchesAndPositions) {
  const BetweenPixels scan;
  const auto loss = [&](const at::Tensor& patches, const at::Tensor& positions) {
    const CanvasLayout layout = lay_out(positions, scan.group, 2, kSize, Interpolation::bilinear);
    return at::real(extract_patches(merge_patches(patches, scan.weights, layout), layout))
        .pow(3)
        .sum();
  };
  const at::Tensor patches = random_tensor({7, kSize, kSize}, at::kComplexDouble, 4);
  EXPECT_LT(gradient_mismatch([&](auto& x) { return loss(x, scan.positions); }, patches), 1e-6);
  EXPECT_LT(gradient_mismatch([&](auto& x) { return loss(patches, x); }, scan.positions), 1e-6);
}

TEST(BilinearMerge, NeverInterpolatesAGroupOfOne) {
  const at::Tensor positions = at::tensor({3.3, 4.8, 9.1, 2.2}, at::kDouble).view({2, 2});
  const CanvasLayout layout =
      lay_out(positions, at::arange(2, at::kLong), 2, kSize, Interpolation::bilinear);
  const at::Tensor patches = random_tensor({2, kSize, kSize}, at::kComplexDouble, 4);
  const at::Tensor weights = at::ones({kSize, kSize}, at::kDouble);
  EXPECT_LT(relative_difference(extract_patches(merge_patches(patches, weights, layout), layout),
                                patches),
            1e-12);
}

/// Half a pixel and a quarter cycle per pixel: bilinear interpolation keeps cos(pi / 4) = 0.71 of
/// the amplitude on the way in and again on the way out, 0.5 in all.
TEST(BilinearMerge, BlursHalfWayBetweenPixelsAsDocumented) {
  const std::int64_t size = 32;
  const at::Tensor positions = at::tensor({20.0, 20.0, 20.0, 20.5}, at::kDouble).view({2, 2});
  const at::Tensor along = at::arange(size, at::kDouble);
  const at::Tensor wave = at::polar(at::ones({size, size}, at::kDouble),
                                    (0.5 * M_PI * along).expand({size, size}).contiguous());
  const CanvasLayout layout =
      lay_out(positions, at::zeros({2}, at::kLong), 1, size, Interpolation::bilinear);
  const at::Tensor second = at::tensor({1}, at::kLong);
  const at::Tensor canvas = merge_patches(wave.unsqueeze(0), at::ones({size, size}, at::kDouble),
                                          select_patches(layout, second));
  const at::Tensor seen =
      extract_patches(canvas, select_patches(layout, second))[0].slice(0, 8, 24).slice(1, 8, 24);
  EXPECT_NEAR(seen.abs().mean().item<double>(), 0.5, 1e-9);
}

TEST(MergeFloor, DividesByTheSumOfWeightsPlusTheFloor) {
  const at::Tensor positions = at::full({1, 2}, 10.0, at::kDouble);
  const CanvasLayout layout = lay_out(positions, at::zeros({1}, at::kLong), 1, 2, kWhole);
  const at::Tensor patches = at::full({1, 2, 2}, 9, at::kComplexDouble);
  const at::Tensor weights = at::tensor({1.0, 0.0, 1.0, 1.0}, at::kDouble).view({2, 2});
  const at::Tensor merged = at::real(merge_patches(patches, weights, layout, {.floor = 0.001}))[0];
  EXPECT_NEAR(merged[0][0].item<double>(), 9 / 1.001, 1e-12);
  EXPECT_EQ(merged[0][1].item<double>(), 0);
}

}  // namespace
}  // namespace ptyche
