// Cutting patches out of an object, and adding them into one: an adjoint pair.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// Cuts one size x size patch per corner out of `object` (rows, cols), bilinearly between pixels.
/// corners  (k, 2) float64, (row, col) of the patch's pixel (0, 0); whole numbers are exact
/// Returns (k, size, size). Differentiable in the object.
/// Throws InvalidInput if a patch leaves the object. Adjoint: place_patches.
at::Tensor extract_patches(const at::Tensor& object, const at::Tensor& corners, std::int64_t size);

/// Adds every patch (k, size, size) into an empty (rows, cols) object; the adjoint of
/// extract_patches.
at::Tensor place_patches(const at::Tensor& patches, const at::Tensor& corners, std::int64_t rows,
                         std::int64_t cols);

/// Flat indices (k, size, size) into images (count, rows, cols) of the patches with whole-pixel
/// `corners` (k, 2) int64 in image number `image` (k) int64.
/// Throws InvalidInput naming the patch that leaves its image.
at::Tensor patch_indices(const at::Tensor& image, const at::Tensor& corners, std::int64_t size,
                         std::int64_t rows, std::int64_t cols);

}  // namespace ptyche
