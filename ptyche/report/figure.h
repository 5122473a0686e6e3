// A figure: one or more pictures with axes, a title and a key to the colours, as a PNG.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ptyche/report/colours.h"

namespace ptyche {

/// One picture of a figure.
struct Panel {
  std::string title;                    ///< above the picture; may be empty
  at::Tensor rgb;                       ///< (rows, cols, 3) sRGB in 0..1; row 0 is drawn at the top
  double first_row = 0, first_col = 0;  ///< object pixel of rgb[0][0]; the axes count from pixel 0
};

struct Figure {
  std::string title;
  std::vector<Panel> panels;  ///< at least one, all of the same shape
  double pixel_m = 0;  ///< > 0: axes in nm, µm or mm and a scale bar; 0: axes in object pixels
  std::variant<ColourBar, ColourWheel> key;
  std::int64_t most_across = 3;  ///< panels that stand in a row, >= 1
};

/// The figure as the bytes of a PNG file. Small pictures are enlarged by a whole factor; a picture
/// that would be longer than 2000 pixels is reduced by a whole factor (means of blocks).
/// Throws InvalidInput if there is no picture or one is empty.
std::string render_png(const Figure& figure);

/// The same for figures below each other on one sheet, at least one.
std::string render_stacked_png(const std::vector<Figure>& figures);

}  // namespace ptyche
