// Numbers to colours. All maps are curves in OKLab (B. Ottosson, "A perceptual color space for
// image processing", 2020, coefficients in the public domain), computed here, so that equal steps
// of the number look like equal steps of colour; no table of another program is used.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

namespace ptyche {

enum class ColourMap {
  sequential,  ///< dark violet over green to light yellow; lightness rises linearly
  cyclic,      ///< a closed loop of hues, light at the middle of the range and dark at its ends
  grey,        ///< black to white
};

/// sRGB of a pixel that has no value: light grey, a colour that no map contains.
inline constexpr double kNoValueGrey = 0.88;

/// Colours of `values` (any shape, real): (..., 3) float32 sRGB in 0..1. `low` and `high` (low <
/// high) are the ends of the map; values beyond them take the colour of the end, or go on around
/// the loop for the cyclic map. Values that are not finite become grey.
at::Tensor colours(ColourMap map, const at::Tensor& values, double low, double high);

/// Domain colouring of complex `values` (any shape): hue is the phase, brightness |value| / peak,
/// black at 0 and full at `peak` (> 0) and above. (..., 3) float32 sRGB in 0..1.
at::Tensor domain_colours(const at::Tensor& values, double peak);

/// Key of colours that mean a number, low < high, both finite.
struct ColourBar {
  ColourMap map = ColourMap::sequential;
  double low = 0, high = 1;
  std::string label;  ///< quantity and unit
};

/// Key of domain colouring: hue = phase, brightness = amplitude.
struct ColourWheel {
  std::string label;  ///< what full brightness is
};

struct ValueRange {
  double low = 0, high = 1;
};

/// 1st to 99th percentile of the finite `values` (rows, cols) where `mask` is true. Always finite
/// and low < high: a constant is given a margin of 5 % (0.05 around 0), no values at all give 0..1.
ValueRange robust_range(const at::Tensor& values, const at::Tensor& mask);

/// A mask that leaves out none of `values` (any shape).
at::Tensor everywhere(const at::Tensor& values);

/// The robust range of several images together, each (rows, cols) of one shape and type.
ValueRange common_range(const std::vector<at::Tensor>& images);

/// The amplitude that only the brightest half percent of `values` (any shape, complex) exceeds:
/// what is shown at full brightness, so that one hot pixel does not darken the rest. Positive
/// always.
double bright_level(const at::Tensor& values);

}  // namespace ptyche
