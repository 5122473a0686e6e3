// Objects drawn by the user.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>

namespace ptyche {

/// An array as levels 0..1: its smallest value is 0, its largest 1; a constant is 1 everywhere.
at::Tensor as_levels(const at::Tensor& values);

/// Amplitude and phase levels (2, rows, cols) float64 in 0..1 of one image for both, or of two: the
/// largest central part of rows : cols is resized, by the mean of the pixels that a new one covers
/// where it shrinks and bilinearly where it grows, and its range then spread over 0..1.
///   file        of read_image (io/image.h)
///   phase_file  the same, or empty: `file`
/// Throws InvalidInput that begins with the file's name.
at::Tensor image_levels(const std::filesystem::path& file, const std::filesystem::path& phase_file,
                        std::int64_t rows, std::int64_t cols);

}  // namespace ptyche
