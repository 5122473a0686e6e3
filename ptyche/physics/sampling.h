// How an image is read between its pixels and beyond its border; what translate and warp share.
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

}  // namespace ptyche
