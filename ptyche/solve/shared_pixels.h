// The object in windows, one for each rank, that overlap: a rank changes its own window, and what
// several ranks see of the same pixel is added up.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <vector>

#include "ptyche/solve/shares.h"

namespace ptyche {

/// Pixels of a canvas that lie in more than one window.
struct SharedPixels {
  std::vector<at::Tensor> in_window;  ///< of each window (k) int64, their numbers in it, row by row
  std::vector<at::Tensor> place;      ///< (k) int64, their numbers among all shared pixels
  std::int64_t count = 0;
};
SharedPixels shared_pixels(const std::vector<ObjectWindow>& windows,
                           std::array<std::int64_t, 2> shape);

/// For each window the sum of what all windows have at its shared pixels, behind the sum of the
/// numbers that all have in common.
///   numbers  one for each window, (common + 2 k) float32: the common ones, then real and imaginary
///            parts at the window's shared pixels
/// Returns arrays of the same shapes.
std::vector<at::Tensor> sums_over_windows(const SharedPixels& shared,
                                          const std::vector<at::Tensor>& numbers,
                                          std::int64_t common);

/// Puts windows together: each pixel is that of the window in which it lies farthest from the edge,
/// beyond which a window sees nothing; pixels of none stay.
///   canvas  (rows, cols), written in place
///   parts   one for each window, of its shape
void put_together(at::Tensor& canvas, const std::vector<ObjectWindow>& windows,
                  const std::vector<at::Tensor>& parts);

}  // namespace ptyche
