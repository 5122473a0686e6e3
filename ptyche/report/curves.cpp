#include "ptyche/report/curves.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ptyche/report/canvas.h"

namespace ptyche {
namespace {

constexpr double kCurvesWidth = 720, kCurvesHeight = 440;
constexpr Rectangle kCurveArea{90, 50, 590, 320};

/// Told apart in print and by those who do not see red and green alike (Okabe and Ito).
constexpr std::array<Colour, 5> kCurveColours{{{0.00, 0.45, 0.70},
                                               {0.84, 0.37, 0.00},
                                               {0.00, 0.62, 0.45},
                                               {0.80, 0.47, 0.65},
                                               {0.34, 0.34, 0.34}}};

bool is_drawn(const CurvePoint& point) {
  return point.x > 0 && std::isfinite(point.x) && std::isfinite(point.y) &&
         std::isfinite(point.low) && std::isfinite(point.high);
}

struct CurveExtent {
  double low = std::numeric_limits<double>::infinity(), high = -low;

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

/// Where values lie on the sheet.
struct CurveAxes {
  CurveExtent x, y;

  Point at(double x_value, double y_value) const {
    return {kCurveArea.x + kCurveArea.width * std::log(x_value / x.low) / std::log(x.high / x.low),
            kCurveArea.y + kCurveArea.height * (y.high - y_value) / (y.high - y.low)};
  }
};

/// With a margin on all sides.
CurveAxes curve_axes_of(const CurvesFigure& figure) {
  constexpr double kMargin = 0.06;
  CurveAxes axes;
  for (const Curve& curve : figure.curves)
    for (const CurvePoint& point : curve.points) {
      if (!is_drawn(point)) continue;
      axes.x.add(point.x);
      for (const double value : {point.y, point.low, point.high}) axes.y.add(value);
    }
  const double ratio = std::max(std::pow(axes.x.high / axes.x.low, kMargin), 1.05);
  axes.x = {axes.x.low / ratio, axes.x.high * ratio};
  const double span = axes.y.high - axes.y.low;
  const double margin = span > 0 ? kMargin * span : std::max(0.05 * std::abs(axes.y.high), 1e-6);
  axes.y = {axes.y.low - margin, axes.y.high + margin};
  return axes;
}

void draw_curve_axes(Canvas& canvas, const CurveAxes& axes, const CurvesFigure& figure) {
  constexpr double kTick = 5;
  const double bottom = kCurveArea.y + kCurveArea.height;
  canvas.frame(kCurveArea, 1);
  for (const Tick& tick : linear_ticks(axes.y.low, axes.y.high, 7)) {
    const double y = axes.at(axes.x.low, tick.value).y;
    canvas.line(kCurveArea.x - kTick, y, kCurveArea.x, y, 1);
    canvas.text(tick.label, kCurveArea.x - 2 * kTick, y, {.anchor = Anchor::right});
  }
  // The sizes that were tried are what a reader looks for, not round numbers between them.
  std::vector<double> sizes;
  for (const Curve& curve : figure.curves)
    for (const CurvePoint& point : curve.points)
      if (is_drawn(point)) sizes.push_back(point.x);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  for (const double size : sizes) {
    const double x = axes.at(size, axes.y.low).x;
    canvas.line(x, bottom, x, bottom + kTick, 1);
    canvas.text(format_number(size), x, bottom + 3 * kTick, {.anchor = Anchor::centre});
  }
  canvas.text(figure.x_label, kCurveArea.x + kCurveArea.width / 2, bottom + 45,
              {.anchor = Anchor::centre});
  canvas.text(figure.y_label, 20, kCurveArea.y + kCurveArea.height / 2,
              {.anchor = Anchor::centre, .upwards = true});
  canvas.text(figure.title, kCurveArea.x, 25, {.size = 15, .bold = true});
}

void draw_curve(Canvas& canvas, const CurveAxes& axes, const Curve& curve, const Colour& colour) {
  constexpr double kCap = 4;
  std::vector<Point> line;
  for (const CurvePoint& point : curve.points) {
    if (!is_drawn(point)) continue;
    const Point low = axes.at(point.x, point.low), high = axes.at(point.x, point.high);
    const Pen bar{1.2, colour};
    canvas.path({low, high}, bar);
    for (const Point& end : {low, high})
      canvas.path({{end.x - kCap, end.y}, {end.x + kCap, end.y}}, bar);
    line.push_back(axes.at(point.x, point.y));
    const Point& middle = line.back();
    canvas.path({{middle.x - kCap, middle.y}, {middle.x + kCap, middle.y}}, {2 * kCap, colour});
  }
  canvas.path(line, {2, colour});
}

void draw_curve_key(Canvas& canvas, const CurvesFigure& figure) {
  constexpr double kStroke = 24, kGap = 8, kBetween = 24;
  double x = kCurveArea.x + kCurveArea.width;
  for (std::size_t i = figure.curves.size(); i-- > 0;) {
    const TextStyle style{.anchor = Anchor::left};
    x -= canvas.text_width(figure.curves[i].label, style);
    canvas.text(figure.curves[i].label, x, 30, style);
    canvas.path({{x - kGap - kStroke, 30}, {x - kGap, 30}},
                {3, kCurveColours[i % kCurveColours.size()]});
    x -= kGap + kStroke + kBetween;
  }
}

}  // namespace

std::string curves_png(const CurvesFigure& figure) {
  const bool any = std::ranges::any_of(figure.curves, [](const Curve& curve) {
    return std::ranges::any_of(curve.points, is_drawn);
  });
  if (!any) return "";
  const CurveAxes axes = curve_axes_of(figure);
  Canvas canvas(kCurvesWidth, kCurvesHeight);
  draw_curve_axes(canvas, axes, figure);
  for (std::size_t i = 0; i < figure.curves.size(); ++i)
    draw_curve(canvas, axes, figure.curves[i], kCurveColours[i % kCurveColours.size()]);
  draw_curve_key(canvas, figure);
  return canvas.png();
}

}  // namespace ptyche
