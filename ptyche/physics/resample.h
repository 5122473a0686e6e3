// Images read between their pixels and beyond their borders, and moved by fractions of a pixel.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ptyche {

enum class Sampling {
  bilinear,  ///< the mean of the four pixels around, weighted by nearness
  nearest,   ///< the nearest pixel; half-way coordinates go to the even one
};

/// What lies beyond the centres of the outermost pixels. For `bilinear` the image ends one pixel
/// farther out, where a missing neighbour's share is lost and not given to the others; for
/// `nearest` a pixel whose source, before rounding, lies outside is 0.
enum class Outside {
  zero,
  edge,  ///< the outermost pixel goes on for ever
};

struct SamplingOptions {
  Sampling sampling = Sampling::bilinear;
  Outside outside = Outside::zero;
};

/// The pixels of one axis that sources read (one tap for `nearest`, two for `bilinear`).
struct Tap {
  at::Tensor index;   ///< int64, 0..size-1, the shape of the sources
  at::Tensor weight;  ///< float64, 0 where the source is outside
};

/// Taps at `sources` (any shape, float64, px, finite) on an axis of `size` pixels. The bilinear
/// weights are differentiable in the sources; at a whole pixel, where the slope jumps, it is the
/// one towards the next higher pixel (the branch of floor).
std::vector<Tap> taps_at(const at::Tensor& sources, std::int64_t size, SamplingOptions options);

/// Throws InvalidInput that names both unless `images` (..., rows, cols) are floating or complex
/// and `places` are finite real numbers of shape (..., *trailing) with the same leading dimensions.
void require_one_place_per_image(const std::string& operation, const at::Tensor& images,
                                 const at::Tensor& places, at::IntArrayRef trailing);

/// Images (..., rows, cols) as (count, rows, cols).
at::Tensor as_stack(const at::Tensor& images);

/// Moves the content of every image by its shift: out(r, c) = in(r - d_row, c - d_col), bilinear
/// interpolation being that of Press et al., Numerical Recipes, 3rd ed., ch. 3.6.
///   images  (..., rows, cols) float32, float64, complex64 or complex128
///   shifts  (..., 2) (row, col) in px, any real type, the same leading dimensions; whole ones are
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
