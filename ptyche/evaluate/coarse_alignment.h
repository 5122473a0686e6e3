// Where an alignment starts: whole pixels of shift, and the nearest phase ramp.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>

#include "ptyche/data/window.h"

namespace ptyche {

/// The window with up to 32 pixels of its surroundings, as far as an image of rows x cols goes:
/// more to find it by.
Window widened(const Window& window, std::int64_t rows, std::int64_t cols);

/// The whole-pixel shift d (row, col) for which image(x - d) lies best on `part`, both complex and
/// of any two shapes. Compares products of neighbouring pixels, o(x + 1) conj o(x), which a phase
/// ramp or a scale changes by a factor only; the peak of their cross-correlation.
std::array<std::int64_t, 2> coarse_shift(const at::Tensor& part, const at::Tensor& image);

/// Row and column of the largest element of a matrix.
std::array<std::int64_t, 2> peak_of(const at::Tensor& values);

/// Frequency (row, col; cycles per pixel, in -0.5..0.5) of the strongest plane wave in `field`
/// (rows, cols) complex: the peak of its Fourier transform, to 1 / `padding` (>= 1) of its
/// resolution.
std::array<double, 2> strongest_frequency(const at::Tensor& field, std::int64_t padding);

/// The phase ramp k (row, col) in cycles per pixel for which exp(2 pi i k.x) image(x) lies best on
/// `truth`, both (rows, cols) complex: the peak of the Fourier transform of truth conj(image), to a
/// quarter of its resolution.
std::array<double, 2> coarse_ramp(const at::Tensor& truth, const at::Tensor& image);

}  // namespace ptyche
