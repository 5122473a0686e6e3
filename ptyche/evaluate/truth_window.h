// Which part of a truth a scan can be judged by.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "ptyche/data/reconstruction.h"
#include "ptyche/evaluate/window.h"

namespace ptyche {

/// Coverage above which an object pixel counts as lit.
inline constexpr double lit_coverage = 0.1;

/// Where the image is lit: (rows, cols) bool; everywhere if the image has no coverage.
at::Tensor lit_pixels(const Reconstruction& image);

/// The central half of the truth (rows, cols) in both directions, [0.25, 0.75) of each side; where
/// less than 99 % of it is lit, shrunk side by side, darkest first, until that much is, with a note
/// to the user. The truth lies in the scan's pixel frame: image index = truth index - origin.
/// Nothing if fewer than 16 x 16 pixels are left.
std::optional<Window> truth_window(const at::Tensor& truth, const Reconstruction& image);

}  // namespace ptyche
