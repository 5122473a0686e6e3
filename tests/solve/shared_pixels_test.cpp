#include "ptyche/solve/shared_pixels.h"

#include <gtest/gtest.h>

namespace ptyche {
namespace {

constexpr std::int64_t kRows = 40, kCols = 30, kCommon = 4;

/// Where two, three, or none of them lie on each other.
std::vector<ObjectWindow> some_windows() {
  return {{.row = 2, .col = 0, .rows = 20, .cols = 18},
          {.row = 15, .col = 5, .rows = 20, .cols = 20},
          {.row = 0, .col = 12, .rows = 25, .cols = 16}};
}

at::Tensor parts_of(const at::Tensor& pixels, const at::Tensor& in_window) {
  return at::view_as_real(pixels.flatten().index_select(0, in_window)).flatten();
}

void expect_sums_of_the_canvas(const std::vector<ObjectWindow>& windows) {
  at::manual_seed(2);
  const SharedPixels shared = shared_pixels(windows, {kRows, kCols});
  at::Tensor whole = at::zeros({kRows, kCols}, at::kComplexFloat), common = at::zeros({kCommon});
  std::vector<at::Tensor> own, numbers;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    own.push_back(at::randn({windows[i].rows, windows[i].cols}, at::kComplexFloat));
    windows[i].of(whole).add_(own.back());
    const at::Tensor mine = at::randn({kCommon});
    common += mine;
    numbers.push_back(at::cat({mine, parts_of(own.back(), shared.in_window[i])}));
  }
  const std::vector<at::Tensor> sums = sums_over_windows(shared, numbers, kCommon);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    ASSERT_EQ(sums[i].sizes(), numbers[i].sizes());
    EXPECT_LT((sums[i].slice(0, 0, kCommon) - common).abs().max().item<double>(), 1e-6);
    // Shared pixels have their sum, all others what the window has.
    at::Tensor flat = own[i].flatten();
    flat.index_copy_(0, shared.in_window[i],
                     at::view_as_complex(sums[i].slice(0, kCommon).view({-1, 2}).contiguous()));
    EXPECT_LT((flat.view_as(own[i]) - windows[i].of(whole)).abs().max().item<double>(), 1e-6);
  }
}

TEST(SharedPixels, HaveTheSumOfAllWindowsInEach) {
  expect_sums_of_the_canvas(some_windows());
  const std::vector<ObjectWindow> all = some_windows();
  expect_sums_of_the_canvas({all[0], all[1]});
  expect_sums_of_the_canvas({all[0], {.row = 30, .col = 20, .rows = 5, .cols = 5}});
}

TEST(SharedPixels, WindowsArePutTogetherByWhatLiesFarthestFromAnEdge) {
  const std::vector<ObjectWindow> windows = some_windows();
  std::vector<at::Tensor> parts;
  for (std::size_t i = 0; i < windows.size(); ++i)
    parts.push_back(at::full({windows[i].rows, windows[i].cols}, static_cast<double>(i + 1)));
  at::Tensor canvas = at::zeros({kRows, kCols});
  put_together(canvas, windows, parts);
  EXPECT_EQ(canvas[39][29].item<double>(), 0);  // in none
  EXPECT_EQ(canvas[5][2].item<double>(), 1);    // in the first only
  EXPECT_EQ(canvas[33][23].item<double>(), 2);
  EXPECT_EQ(canvas[1][26].item<double>(), 3);
  EXPECT_EQ(canvas[16][6].item<double>(), 1);  // 6 from the first one's rim, 2 from the second's
  EXPECT_EQ(canvas[21][15].item<double>(), 2);
}

}  // namespace
}  // namespace ptyche
