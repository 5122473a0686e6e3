#include "ptyche/report/line_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/report/html.h"
#include "ptyche/report/ticks.h"

namespace ptyche {
namespace {

constexpr double width = 640, height = 300, left = 74, right = 22, top = 18, bottom = 50;

struct Scale {
  double low, high;
  bool logarithmic = false;

  /// 0 at `low`, 1 at `high`.
  double fraction(double value) const {
    if (logarithmic) return std::log(value / low) / std::log(high / low);
    return (value - low) / (high - low);
  }
  std::vector<Tick> ticks() const {
    return logarithmic ? log_ticks(low, high) : linear_ticks(low, high, 6);
  }
};

Scale value_scale(const std::vector<double>& values) {
  std::vector<double> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
               [](double value) { return std::isfinite(value); });
  require(!finite.empty(), "a curve needs a finite value, found none among {}", values.size());
  const auto [least, most] = std::minmax_element(finite.begin(), finite.end());
  if (*least > 0 && *most > 10 * *least) return {*least / 1.1, *most * 1.1, true};
  const double size = std::max(std::abs(*least), std::abs(*most));
  const double margin = std::max({0.05 * (*most - *least), 1e-3 * size, 1e-12});
  return {*least - margin, *most + margin};
}

/// A curve of one or no step still has an axis.
Scale step_scale(std::size_t steps) { return {1, std::max(2.0, static_cast<double>(steps))}; }

double x_of(const Scale& scale, double value) {
  return left + scale.fraction(value) * (width - left - right);
}

double y_of(const Scale& scale, double value) {
  return height - bottom - scale.fraction(value) * (height - top - bottom);
}

std::string text(double x, double y, const char* anchor, const std::string& words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escape_html(words));
}

std::string grid(const Scale& steps, const Scale& values) {
  std::string svg;
  for (const Tick& tick : values.ticks()) {
    const double y = y_of(values, tick.value);
    svg += fmt::format("<path class=\"grid\" d=\"M{} {:.1f}H{}\"/>\n", left, y, width - right);
    svg += text(left - 8, y + 4.5, "end", tick.label);
  }
  for (const Tick& tick : steps.ticks()) {
    if (tick.value != std::round(tick.value)) continue;
    const double x = x_of(steps, tick.value);
    svg += fmt::format("<path class=\"axis\" d=\"M{:.1f} {}v5\"/>\n", x, height - bottom);
    svg += text(x, height - bottom + 20, "middle", tick.label);
  }
  return svg + fmt::format("<path class=\"axis\" d=\"M{} {}V{}H{}\"/>\n", left, top,
                           height - bottom, width - right);
}

std::string curve(const LinePlot& plot, const Scale& steps, const Scale& values) {
  std::string path, dot;
  bool pen_down = false;
  for (std::size_t index = 0; index < plot.y.size(); ++index) {
    const double value = plot.y[index];
    if (std::isfinite(value)) {
      const double x = x_of(steps, static_cast<double>(index + 1)), y = y_of(values, value);
      path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", x, y);
      dot = fmt::format("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>\n", x, y);
    }
    pen_down = std::isfinite(value);
  }
  return "<path class=\"curve\" d=\"" + path + "\"/>\n" + dot;
}

}  // namespace

std::string line_plot_svg(const LinePlot& plot) {
  const Scale steps = step_scale(plot.y.size()), values = value_scale(plot.y);
  const double middle = (top + height - bottom) / 2;
  std::string svg =
      fmt::format("<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\">\n", width, height);
  svg += "<title>" + escape_html(plot.title) + "</title>\n";
  svg += grid(steps, values) + curve(plot, steps, values);
  svg += text((left + width - right) / 2, height - 8, "middle", plot.x_label);
  svg += fmt::format(
      "<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}"
      "</text>\n",
      middle, escape_html(plot.y_label + (values.logarithmic ? ", log scale" : "")));
  return svg + "</svg>\n";
}

}  // namespace ptyche
