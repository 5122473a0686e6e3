// A figure: one or more pictures with axes, a title and a key to the colours, as a PNG; and the
// colours.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <variant>
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

/// A point of the object, and a line that leads to it; in object pixels.
struct Mark {
  double from_row = 0, from_col = 0, row = 0, col = 0;
};

/// One picture of a figure.
struct Panel {
  std::string title;                    ///< above the picture; may be empty
  at::Tensor rgb;                       ///< (rows, cols, 3) sRGB in 0..1; row 0 is drawn at the top
  double first_row = 0, first_col = 0;  ///< object pixel of rgb[0][0]; the axes count from pixel 0
  std::vector<Mark> marks = {};         ///< drawn on it
};

struct Figure {
  std::string title;
  std::vector<Panel> panels;  ///< at least one, all of the same shape
  double pixel_m = 0;  ///< > 0: axes in nm, µm or mm and a scale bar; 0: axes in `axis_unit`
  std::variant<ColourBar, ColourWheel> key;
  std::int64_t most_across = 3;  ///< panels that stand in a row, >= 1
  std::string axis_unit = "object pixel";
};

/// The figure as the bytes of a PNG file. Small pictures are enlarged by a whole factor; a picture
/// that would be longer than 2000 pixels is reduced by a whole factor (means of blocks).
/// Throws InvalidInput if there is no picture or one is empty.
std::string render_png(const Figure& figure);

/// The same for figures below each other on one sheet, at least one.
std::string render_stacked_png(const std::vector<Figure>& figures);

}  // namespace ptyche
