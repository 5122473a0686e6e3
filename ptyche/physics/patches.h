// Cutting patches out of an object, and adding them into one: an adjoint pair.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// Cuts one size x size patch per corner out of `object` (rows, cols), bilinearly between pixels.
/// corners  (k, 2) float64, (row, col) of the patch's pixel (0, 0); whole numbers are exact
/// Returns (k, size, size). Differentiable in object and corners; at a whole-pixel corner the
/// derivative is the one towards larger row and col.
/// Throws InvalidInput naming the patch that leaves the object. Adjoint: place_patches.
at::Tensor extract_patches(const at::Tensor& object, const at::Tensor& corners, std::int64_t size);

/// Adds every patch (k, size, size) into an empty (rows, cols) object; the adjoint of
/// extract_patches. Differentiable in patches and corners.
at::Tensor place_patches(const at::Tensor& patches, const at::Tensor& corners, std::int64_t rows,
                         std::int64_t cols);

}  // namespace ptyche
