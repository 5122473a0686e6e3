#include "ptyche/evaluate/lit_window.h"

#include <gtest/gtest.h>

namespace ptyche {
namespace {

Reconstruction lit(std::int64_t rows, std::int64_t cols, std::int64_t origin_row,
                   std::int64_t origin_col) {
  Reconstruction image;
  image.object = at::ones({rows, cols}, at::kComplexFloat);
  image.coverage = at::ones({rows, cols}, at::kFloat);
  image.origin_row = origin_row;
  image.origin_col = origin_col;
  return image;
}

const at::Tensor truth = at::ones({101, 80}, at::kComplexFloat);

TEST(TruthWindow, IsTheCentralHalfWhereTheScanLightsIt) {
  EXPECT_EQ(truth_window(truth, lit(101, 80, 0, 0)), (Window{25, 75, 20, 60}));
  EXPECT_EQ(truth_window(truth, lit(50, 40, 25, 20)), (Window{25, 75, 20, 60}));
  EXPECT_EQ(truth_window(truth, lit(300, 300, -90, -90)), (Window{25, 75, 20, 60}));
}

TEST(TruthWindow, ToleratesAFewDarkPixels) {
  Reconstruction image = lit(101, 80, 0, 0);
  image.coverage.narrow(0, 40, 4).narrow(1, 40, 4).fill_(0.05);
  EXPECT_EQ(truth_window(truth, image), (Window{25, 75, 20, 60}));
}

TEST(TruthWindow, ShrinksToTheLitPart) {
  // Lit truth rows 35..74 and columns 22..57.
  const std::optional<Window> window = truth_window(truth, lit(40, 36, 35, 22));
  ASSERT_TRUE(window.has_value());
  EXPECT_EQ(*window, (Window{35, 75, 22, 58}));
}

TEST(TruthWindow, IsAbsentWhereTheScanLightsTooLittle) {
  EXPECT_FALSE(truth_window(truth, lit(10, 80, 40, 0)).has_value());
  EXPECT_FALSE(truth_window(truth, lit(50, 50, 200, 0)).has_value());
}

TEST(TruthWindow, TakesAnImageWithoutCoverageAsLit) {
  Reconstruction image = lit(101, 80, 0, 0);
  image.coverage = at::Tensor();
  EXPECT_EQ(truth_window(truth, image), (Window{25, 75, 20, 60}));
}

}  // namespace
}  // namespace ptyche
