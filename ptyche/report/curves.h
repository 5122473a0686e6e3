// Curves with a range around each point, as a PNG: how a score goes with a size.
#pragma once

#include <string>
#include <vector>

namespace ptyche {

struct CurvePoint {
  double x = 0, y = 0;
  double low = 0, high = 0;  ///< the range, drawn as a bar
};

struct Curve {
  std::string label;  ///< in the key
  std::vector<CurvePoint> points;
};

struct CurvesFigure {
  std::string title, x_label, y_label;
  std::vector<Curve> curves;
};

/// x is logarithmic, of values > 0; y linear over all ranges. Points that are not finite are left
/// out. Empty where no point is left.
std::string curves_png(const CurvesFigure& figure);

}  // namespace ptyche
