// Images seen through a homography: rotation, magnification, shear, perspective.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/physics/sampling.h"

namespace ptyche {

/// Reads every image at the pixels that its homography names (Hartley & Zisserman, Multiple View
/// Geometry, 2nd ed., ch. 2.3): output pixel (r, c) comes from input (u / w, v / w), where
/// (u, v, w) = H (r, c, 1). H = [1 0 -d_row; 0 1 -d_col; 0 0 1] is translate by (d_row, d_col).
/// PtychoPINN's projective warp orders (x, y) = (col, row): exchange the first two rows of its
/// matrix, and then the first two columns.
///   images        (..., rows, cols) float32, float64, complex64 or complex128
///   homographies  (..., 3, 3) any real type, the same leading dimensions; output -> input pixel
/// Returns the images' shape and type; precision and promotion as in translate. A pixel with w = 0
/// has its source at infinity and is 0 for both kinds of `outside`.
/// Linear in the images; differentiable in them and, for `bilinear`, in the homographies, with
/// translate's convention where a source falls on a whole pixel.
/// Throws InvalidInput that names both shapes where they do not match. Adjoint: warp_adjoint.
at::Tensor warp(const at::Tensor& images, const at::Tensor& homographies,
                SamplingOptions options = {});

/// The adjoint of warp in the images, (..., rows, cols) -> the same.
at::Tensor warp_adjoint(const at::Tensor& warped, const at::Tensor& homographies,
                        SamplingOptions options = {});

}  // namespace ptyche
