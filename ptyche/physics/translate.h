// Moving images by fractions of a pixel: the core operator of merging and extracting.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/physics/sampling.h"

namespace ptyche {

/// Moves the content of every image by its shift: out(r, c) = in(r - d_row, c - d_col), bilinear
/// interpolation being that of Press et al., Numerical Recipes, 3rd ed., ch. 3.6.
///   images  (..., rows, cols) float32, float64, complex64 or complex128
///   shifts  (..., 2) (row, col) in px, any real type, the same leading dimensions; whole numbers
///   are
///           exact
/// Returns the images' shape and type. Sources and weights are computed in float64 whatever the
/// types are, and the weights then rounded to the images' precision: float64 shifts beside float32
/// images lose nothing.
/// Linear in the images; differentiable in them and, for `bilinear`, in the shifts. At a
/// whole-pixel shift the output has a kink: the gradient is that of a slightly smaller shift (the
/// source's floor branch). `nearest` gives the shifts no gradient. Throws InvalidInput that names
/// both shapes where they do not match. Adjoint: translate_adjoint.
at::Tensor translate(const at::Tensor& images, const at::Tensor& shifts,
                     SamplingOptions options = {});

/// The adjoint of translate in the images, (..., rows, cols) -> the same. For zero outside and
/// bilinear it is the translation by -shift, except that what left the image is lost in both.
at::Tensor translate_adjoint(const at::Tensor& moved, const at::Tensor& shifts,
                             SamplingOptions options = {});

}  // namespace ptyche
