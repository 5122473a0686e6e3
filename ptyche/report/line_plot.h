// A curve as inline SVG that takes the colours of the page around it.
#pragma once

#include <string>
#include <vector>

namespace ptyche {

struct LinePlot {
  std::string title;             ///< read out where the plot is not seen
  std::string x_label, y_label;  ///< beside the axes
  std::vector<double> y;         ///< one value per step; the first step is number 1
};

/// <svg> of the curve: logarithmic in y where all values are positive and span more than a factor
/// of ten, else linear. Values that are not finite leave a gap. Throws InvalidInput if no value is
/// finite.
std::string line_plot_svg(const LinePlot& plot);

}  // namespace ptyche
