// Numbers to colours. All maps are curves in OKLab (B. Ottosson, "A perceptual color space for
// image processing", 2020, coefficients in the public domain), computed here, so that equal steps
// of the number look like equal steps of colour; no table of another program is used.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

enum class ColourMap {
  sequential,  ///< dark violet over green to light yellow; lightness rises linearly
  cyclic,      ///< a closed loop of hues, light at the middle of the range and dark at its ends
  grey,        ///< black to white
};

/// sRGB of a pixel that has no value: light grey, a colour that no map contains.
inline constexpr double no_value_grey = 0.88;

/// Colours of `values` (any shape, real): (..., 3) float32 sRGB in 0..1. `low` and `high` (low <
/// high) are the ends of the map; values beyond them take the colour of the end, or go on around
/// the loop for the cyclic map. Values that are not finite become grey.
at::Tensor colours(ColourMap map, const at::Tensor& values, double low, double high);

/// Domain colouring of complex `values` (any shape): hue is the phase, brightness |value| / peak,
/// black at 0 and full at `peak` (> 0) and above. (..., 3) float32 sRGB in 0..1.
at::Tensor domain_colours(const at::Tensor& values, double peak);

}  // namespace ptyche
