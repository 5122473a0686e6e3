// Which part of an image can be judged.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/window.h"

namespace ptyche {

/// Coverage above which an object pixel counts as lit.
inline constexpr double lit_coverage = 0.1;

/// The least side of a window that is worth judging, pixels.
inline constexpr std::int64_t smallest_window_side = 16;

/// Where the image is lit: (rows, cols) bool; everywhere if the image has no coverage.
at::Tensor lit_pixels(const Reconstruction& image);

/// `lit` (bool) as it lies on a canvas of rows x cols pixels when its pixel (0, 0) falls on
/// (row, col): (rows, cols) bool, false where it does not reach.
at::Tensor placed(const at::Tensor& lit, std::int64_t rows, std::int64_t cols, std::int64_t row,
                  std::int64_t col);

/// [0.25, 0.75) of both sides.
Window central_half(std::int64_t rows, std::int64_t cols);

/// `start` shrunk side by side, darkest first, until 99 % of it is lit (rows, cols bool); given up,
/// and then not `large_enough`, when a side falls below 16 pixels.
Window lit_part(const Window& start, const at::Tensor& lit);
bool large_enough(const Window& window);

/// The lit part of the truth's central half, with a note to the user where it is less than all of
/// that. The truth lies in the scan's pixel frame: image index = truth index - origin. Nothing if
/// too little is lit.
std::optional<Window> truth_window(const at::Tensor& truth, const Reconstruction& image);

}  // namespace ptyche
