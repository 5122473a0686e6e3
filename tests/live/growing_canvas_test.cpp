// The canvas that grows: the same image as the stitched one, wherever it begins.
#include "ptyche/live/growing_canvas.h"

#include <gtest/gtest.h>

#include <numeric>

#include "ptyche/core/error.h"
#include "ptyche/data/probe.h"
#include "tests/support/checks.h"

namespace ptyche {
namespace {

/// Patches of 16 x 16 cut out of one object, each times a phase of its own; corners from `origin`.
struct Cut {
  at::Tensor object, patches, corners;
};
Cut cut_up(std::int64_t origin) {
  Cut made;
  made.object = 1 + 0.2 * random_tensor({60, 60}, at::kComplexDouble, 5).to(at::kComplexFloat);
  std::vector<at::Tensor> patches, corners;
  for (std::int64_t row = 0; row <= 44; row += 4)
    for (std::int64_t col = 0; col <= 44; col += 4) {
      const at::Tensor turn = at::polar(
          at::ones({}), at::tensor(0.1 * static_cast<double>(row * 7 + col)).to(at::kFloat));
      patches.push_back(made.object.narrow(0, row, 16).narrow(1, col, 16) * turn);
      corners.push_back(at::tensor({origin + row, origin + col}, at::kLong));
    }
  made.patches = at::stack(patches);
  made.corners = at::stack(corners);
  return made;
}

at::Tensor light() { return at::rand({16, 16}) + 0.1; }

void add_all(GrowingCanvas& canvas, const Cut& cut, const at::Tensor& weight, std::int64_t step) {
  for (std::int64_t first = 0; first < cut.patches.size(0); first += step) {
    const std::int64_t count = std::min(step, cut.patches.size(0) - first);
    std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
    std::iota(indices.begin(), indices.end(), first);
    canvas.add(cut.patches.narrow(0, first, count), weight.expand({count, 16, 16}),
               cut.corners.narrow(0, first, count), indices);
  }
}

TEST(GrowingCanvas, JoinsPatchesThatAgreeToTheirObjectUpToOnePhase) {
  for (const std::int64_t origin : {0, -30, 240, -513}) {  // across the edges of tiles
    const Cut cut = cut_up(origin);
    GrowingCanvas canvas;
    add_all(canvas, cut, light(), 7);
    EXPECT_EQ(canvas.extent(), (Window{origin, origin + 60, origin, origin + 60}));
    const auto [object, coverage] = canvas.picture();
    const at::Tensor turn = object[0][0] / cut.object[0][0];
    EXPECT_LT(relative_difference(object, cut.object * turn), 1e-5) << origin;
    EXPECT_NEAR(coverage.max().item<double>(), 1, 1e-6);
  }
}

TEST(GrowingCanvas, IsTheSameHoweverManyPatchesComeAtOnce) {
  const Cut cut = cut_up(0);
  const at::Tensor weight = light();
  GrowingCanvas one, many;
  add_all(one, cut, weight, 1);
  add_all(many, cut, weight, 64);
  EXPECT_TRUE(at::equal(one.picture().first, many.picture().first));
}

TEST(GrowingCanvas, APartIsCutOutOfTheWhole) {
  const Cut cut_ones = cut_up(240);  // over the corner of four tiles
  GrowingCanvas canvas;
  add_all(canvas, cut_ones, light(), 9);
  const auto [part, coverage] =
      canvas.picture(GrowingCanvas::Half::both, Window{250, 280, 245, 290});
  EXPECT_TRUE(at::equal(part, cut(canvas.picture().first, {10, 40, 5, 50})));
  EXPECT_NEAR(coverage.max().item<double>(), 1, 1e-6);
}

TEST(GrowingCanvas, HalvesAreOfEvenAndOfOddPatterns) {
  GrowingCanvas canvas;
  const at::Tensor patch = at::complex(at::full({1, 4, 4}, 2.0), at::zeros({1, 4, 4}));
  canvas.add(patch, at::ones({1, 4, 4}), at::zeros({1, 2}, at::kLong), {4});
  canvas.add(3 * patch, at::ones({1, 4, 4}), at::zeros({1, 2}, at::kLong), {5});
  using Half = GrowingCanvas::Half;
  EXPECT_NEAR(at::real(canvas.picture(Half::even).first).mean().item<double>(), 2, 1e-6);
  EXPECT_NEAR(at::real(canvas.picture(Half::odd).first).mean().item<double>(), 6, 1e-6);
  EXPECT_NEAR(at::real(canvas.picture().first).mean().item<double>(), 4, 1e-6);
}

TEST(GrowingCanvas, RefusesAPositionInAnotherUnit) {
  GrowingCanvas canvas;
  const at::Tensor patch = at::ones({1, 4, 4}, at::kComplexFloat);
  EXPECT_THROW(canvas.add(patch, at::ones({1, 4, 4}),
                          at::full({1, 2}, std::int64_t{1} << 40, at::kLong), {0}),
               InvalidInput);
  EXPECT_TRUE(canvas.empty());
}

}  // namespace
}  // namespace ptyche
