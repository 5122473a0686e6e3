#include "ptyche/report/ring_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/report/canvas.h"
#include "ptyche/report/ticks.h"

namespace ptyche {
namespace {

constexpr double em = 24, width = 1400, height = 960;
constexpr Rectangle area{4.6 * em, 3 * em, width - 6 * em, height - 12.2 * em};
constexpr TextStyle plain{.size = em};

/// One line of the figure and of its legend.
struct Line {
  std::string label;
  std::vector<double> values;
  Pen pen;
};

// Colours that people tell apart whatever their sight: M. Okabe & K. Ito, "Color universal design",
// 2008.
constexpr Colour blue{0, 0.447, 0.698}, vermilion{0.835, 0.369, 0}, green{0, 0.62, 0.451},
    purple{0.8, 0.475, 0.655}, grey{0.35, 0.35, 0.35};

std::string crossing_text(double cycles_per_px, double pixel_m, double last) {
  if (cycles_per_px >= last) return "never";
  std::string text = fmt::format("{:.3f} / px", cycles_per_px);
  if (pixel_m > 0 && cycles_per_px > 0)
    text += fmt::format(" ({:.3g} nm half period)", 0.5e9 * pixel_m / cycles_per_px);
  return text;
}

std::vector<Line> lines_of(const Comparison& comparison) {
  const RingCorrelation& rings = comparison.rings;
  const RingCrossings& at = comparison.error.frc;
  const double last = rings.cycles_per_px.back();
  const auto label = [&](const char* name, double crossing) {
    return fmt::format("{}: {}", name, crossing_text(crossing, comparison.object_pixel_m, last));
  };
  const auto level = [&](double value) {
    return std::vector<double>(rings.cycles_per_px.size(), value);
  };
  return {{"the correlation; it falls below", rings.correlation, {4, blue, {}}},
          {label("half-bit", at.half_bit), rings.half_bit, {2.5, vermilion, {14, 8}}},
          {label("1-bit", at.one_bit), rings.one_bit, {2.5, green, {18, 6, 4, 6}}},
          {label("0.5", at.half), level(0.5), {2.5, grey, {4, 6}}},
          {label("1/7", at.one_seventh), level(1.0 / 7), {2.5, purple, {9, 6}}}};
}

/// Data to sheet pixels.
struct Scales {
  double last, low;
  Point place(double cycles_per_px, double value) const {
    const double clipped = std::clamp(value, low, 1.0);
    return {area.x + cycles_per_px / last * area.width,
            area.y + (1 - clipped) / (1 - low) * area.height};
  }
};

Scales scales_of(const RingCorrelation& rings) {
  const auto counted = rings.correlation.begin() + 1;  // ring 0 is one pixel, and mean free
  const double least = *std::min_element(counted, rings.correlation.end());
  return {rings.cycles_per_px.back(), std::min(0.0, std::max(-1.0, least - 0.05))};
}

void draw_axes(Canvas& canvas, const Scales& scales) {
  const double bottom = area.y + area.height;
  for (const Tick& tick : linear_ticks(0, scales.last, 6)) {
    const double x = scales.place(tick.value, 0).x;
    canvas.line(x, bottom, x, bottom + 8, 1.5);
    canvas.text(tick.label, x, bottom + 1.1 * em, {.size = em, .anchor = Anchor::centre});
  }
  for (const Tick& tick : linear_ticks(scales.low, 1, 6)) {
    const double y = scales.place(0, tick.value).y;
    canvas.line(area.x - 8, y, area.x, y, 1.5);
    canvas.text(tick.label, area.x - 0.7 * em, y, {.size = em, .anchor = Anchor::right});
  }
  canvas.text("cycles per object pixel", area.x + area.width / 2, bottom + 2.7 * em,
              {.size = em, .anchor = Anchor::centre});
  canvas.text("correlation", 1.1 * em, area.y + area.height / 2,
              {.size = em, .anchor = Anchor::centre, .upwards = true});
  canvas.frame(area, 1.5);
}

void draw_line(Canvas& canvas, const Scales& scales, const RingCorrelation& rings,
               const Line& line) {
  std::vector<Point> points;
  for (std::size_t ring = 1; ring < line.values.size(); ++ring)
    points.push_back(scales.place(rings.cycles_per_px[ring], line.values[ring]));
  canvas.path(points, line.pen);
}

/// Below the axis, in two columns: a good curve leaves no free corner.
void draw_legend(Canvas& canvas, const std::vector<Line>& lines) {
  const double top = area.y + area.height + 4.6 * em;
  for (std::size_t index = 0; index < lines.size(); ++index) {
    const double x = area.x + static_cast<double>(index % 2) * 0.5 * area.width;
    const double y = top + static_cast<double>(index / 2) * 1.6 * em;
    canvas.path({{x, y}, {x + 2.6 * em, y}}, lines[index].pen);
    canvas.text(lines[index].label, x + 3.1 * em, y, plain);
  }
}

}  // namespace

std::string ring_figure_png(const Comparison& comparison, const std::string& title) {
  const RingCorrelation& rings = comparison.rings;
  require(rings.cycles_per_px.size() >= 2, "expected the rings of a correlation, found {}",
          rings.cycles_per_px.size());
  const Scales scales = scales_of(rings);
  const std::vector<Line> lines = lines_of(comparison);
  Canvas canvas(width, height);
  canvas.text(title, area.x, 1.4 * em, {.size = 1.25 * em, .bold = true});
  draw_axes(canvas, scales);
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    draw_line(canvas, scales, rings, *line);
  draw_legend(canvas, lines);
  return canvas.png();
}

std::string ring_figure_words(const Comparison& comparison) {
  std::string text;
  const std::vector<Line> lines = lines_of(comparison);
  for (std::size_t index = 1; index < lines.size(); ++index)
    text += (index == 1 ? "" : "; ") + lines[index].label;
  return "Fourier ring correlation; falls below " + text;
}

}  // namespace ptyche
