#include "ptyche/solve/shared_pixels.h"

#include <algorithm>

namespace ptyche {
namespace {

/// 1 at the rim, more inside: (rows, cols) int64.
at::Tensor distance_from_edge(const ObjectWindow& window) {
  const auto along = [](std::int64_t length) {
    const at::Tensor forth = at::arange(1, length + 1, at::kLong);
    return at::minimum(forth, length + 1 - forth);
  };
  return at::minimum(along(window.rows).unsqueeze(1), along(window.cols).unsqueeze(0));
}

}  // namespace

SharedPixels shared_pixels(const std::vector<ObjectWindow>& windows,
                           std::array<std::int64_t, 2> shape) {
  at::Tensor windows_at = at::zeros(shape, at::kLong);
  for (const ObjectWindow& window : windows) window.of(windows_at).add_(1);
  const at::Tensor is_shared = windows_at.gt(1);
  const at::Tensor number = is_shared.flatten().cumsum(0).sub_(1).view(shape);
  SharedPixels shared{.in_window = {}, .place = {}, .count = is_shared.sum().item<std::int64_t>()};
  for (const ObjectWindow& window : windows) {
    shared.in_window.push_back(window.of(is_shared).flatten().nonzero().squeeze(1));
    shared.place.push_back(window.of(number).flatten().index_select(0, shared.in_window.back()));
  }
  return shared;
}

namespace {

/// Whether each window has all shared pixels, as where there are two.
bool all_in_each(const SharedPixels& shared) {
  return std::ranges::all_of(shared.place,
                             [&](const at::Tensor& own) { return own.size(0) == shared.count; });
}

}  // namespace

std::vector<at::Tensor> sums_over_windows(const SharedPixels& shared,
                                          const std::vector<at::Tensor>& numbers,
                                          std::int64_t common) {
  if (all_in_each(shared)) {
    at::Tensor sum = numbers.front();
    for (std::size_t i = 1; i < numbers.size(); ++i) sum = sum + numbers[i];
    return std::vector<at::Tensor>(numbers.size(), sum);
  }
  at::Tensor of_all = at::zeros({common}), of_pixels = at::zeros({shared.count, 2});
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    of_all += numbers[i].slice(0, 0, common);
    of_pixels.index_add_(0, shared.place[i], numbers[i].slice(0, common).view({-1, 2}));
  }
  std::vector<at::Tensor> sums;
  for (const at::Tensor& place : shared.place)
    sums.push_back(at::cat({of_all, of_pixels.index_select(0, place).flatten()}));
  return sums;
}

void put_together(at::Tensor& canvas, const std::vector<ObjectWindow>& windows,
                  const std::vector<at::Tensor>& parts) {
  at::Tensor depth = at::zeros(canvas.sizes(), at::kLong);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    at::Tensor deepest = windows[i].of(depth), pixels = windows[i].of(canvas);
    const at::Tensor own = distance_from_edge(windows[i]), deeper = own.gt(deepest);
    pixels.copy_(at::where(deeper, parts[i], pixels));
    deepest.copy_(at::maximum(own, deepest));
  }
}

}  // namespace ptyche
