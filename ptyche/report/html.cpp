#include "ptyche/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "ptyche/core/error.h"
#include "ptyche/report/canvas.h"

namespace ptyche {
namespace {

using Json = nlohmann::ordered_json;

/// Length of the UTF-8 character at the front of `text`, 0 if there is none (overlong forms,
/// surrogates and values beyond U+10FFFF are none; Unicode 15, table 3-7).
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t index = 1; index < length; ++index)
    if ((byte(index) & 0xc0) != 0x80) return 0;
  const unsigned second = byte(1);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)) return 0;
  if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) return 0;
  return length;
}

std::string escaped_character(std::string_view character) {
  switch (character[0]) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      break;
  }
  const auto code = static_cast<unsigned char>(character[0]);
  const bool control = (code < 0x20 && code != '\t' && code != '\n') || code == 0x7f;
  return control ? "\ufffd" : std::string(character);
}

std::string row_html(const TableRow& row) {
  std::string html = "<tr>";
  for (std::size_t index = 0; index < row.size(); ++index)
    html += index == 0 ? "<th scope=\"row\">" + escape_html(row[index]) + "</th>"
                       : "<td>" + escape_html(row[index]) + "</td>";
  return html + "</tr>\n";
}

std::string head_html(const TableRow& head) {
  if (head.empty()) return "";
  std::string html = "<thead><tr>";
  for (const std::string& cell : head) html += "<th scope=\"col\">" + escape_html(cell) + "</th>";
  return html + "</tr></thead>\n";
}

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_null()) return "not set";
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void flatten(const Json& value, const std::string& name, std::vector<TableRow>& rows) {
  if (!value.is_object()) {
    rows.push_back({name, value_text(value)});
    return;
  }
  for (const auto& [key, member] : value.items())
    flatten(member, name.empty() ? key : name + "." + key, rows);
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string html;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    html += length == 0 ? "\ufffd" : escaped_character(text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return html;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t start = 0; start < bytes.size(); start += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - start);
    std::uint32_t bits = 0;
    for (std::size_t index = 0; index < 3; ++index)
      bits = bits << 8 | (index < count ? static_cast<unsigned char>(bytes[start + index]) : 0u);
    for (std::size_t index = 0; index < 4; ++index)
      text += index <= count ? letters[bits >> (18 - 6 * index) & 63] : '=';
  }
  return text;
}

std::string figure_html(const Picture& picture) {
  return "<figure><img alt=\"" + escape_html(picture.alt) + "\" src=\"data:image/png;base64," +
         base64(picture.png) + "\"><figcaption>" + escape_html(picture.caption) +
         "</figcaption></figure>\n";
}

std::string table_html(const std::string& kind, const std::string& caption, const TableRow& head,
                       const std::vector<TableRow>& rows) {
  std::string html = "<table class=\"" + escape_html(kind) + "\">\n";
  if (!caption.empty()) html += "<caption>" + escape_html(caption) + "</caption>\n";
  html += head_html(head) + "<tbody>\n";
  for (const TableRow& row : rows) html += row_html(row);
  return html + "</tbody></table>\n";
}

std::vector<TableRow> flattened_options(const std::string& json) {
  const Json options = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  require(options.is_object(), "options: a JSON object expected, found '{}'", json.substr(0, 80));
  std::vector<TableRow> rows;
  flatten(options, "", rows);
  return rows;
}

// Scores.

namespace {

std::string group_of(const NamedScore& score) {
  const std::size_t dot = score.name.find('.');
  return dot == std::string::npos ? "" : score.name.substr(0, dot);
}

/// What a reader calls the group; a group not listed here goes by its own name.
std::string group_title(const std::string& group) {
  const std::map<std::string, std::string> titles = {
      {"held_out", "Held-out patterns: predicted, never used"},
      {"held_out_all_pixels", "Held-out patterns, masked pixels too"},
      {"used", "Patterns used for the image"},
      {"unseen_half", "Unseen half: patterns that no training saw"},
      {"truth", "Against the known truth"},
      {"half_sets", "Two images that share no pattern: odd against even"},
      {"object", "Object"},
      {"time", "Time"}};
  const auto found = titles.find(group);
  if (found != titles.end()) return found->second;
  std::string title = group;
  std::replace(title.begin(), title.end(), '_', ' ');
  return title;
}

}  // namespace

std::string score_tables(const std::vector<NamedScore>& scores) {
  std::vector<std::string> groups;
  std::map<std::string, std::vector<TableRow>> rows;
  for (const NamedScore& score : scores) {
    const std::string group = group_of(score);
    if (!score.predictor.empty() && !rows[group].empty()) {
      rows[group].back()[2] +=
          fmt::format(" [{}: {}]", score.predictor, format_number(score.value));
      continue;
    }
    if (!rows.contains(group)) groups.push_back(group);
    rows[group].push_back({score.name, format_number(score.value), score.meaning});
  }
  std::string html;
  for (const std::string& group : groups)
    html += table_html("scores", group_title(group), {"name", "value", "meaning"}, rows[group]);
  return html;
}

// Curves. Not by cairo: its SVG has fixed colours and letters as outlines, and this one takes the
// colours and the font of the page, light or dark.

namespace {

constexpr double kPlotWidth = 640, kPlotHeight = 300, kLeft = 112, kRight = 22, kTop = 24,
                 kBottom = 50;

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
  return kLeft + scale.fraction(value) * (kPlotWidth - kLeft - kRight);
}

double y_of(const Scale& scale, double value) {
  return kPlotHeight - kBottom - scale.fraction(value) * (kPlotHeight - kTop - kBottom);
}

std::string text_svg(double x, double y, const char* anchor, const std::string& words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escape_html(words));
}

std::string grid(const Scale& steps, const Scale& values) {
  std::string svg;
  for (const Tick& tick : values.ticks()) {
    const double y = y_of(values, tick.value);
    svg +=
        fmt::format("<path class=\"grid\" d=\"M{} {:.1f}H{}\"/>\n", kLeft, y, kPlotWidth - kRight);
    svg += text_svg(kLeft - 8, y + 4.5, "end", tick.label);
  }
  for (const Tick& tick : steps.ticks()) {
    if (tick.value != std::round(tick.value)) continue;
    const double x = x_of(steps, tick.value);
    svg += fmt::format("<path class=\"axis\" d=\"M{:.1f} {}v5\"/>\n", x, kPlotHeight - kBottom);
    svg += text_svg(x, kPlotHeight - kBottom + 20, "middle", tick.label);
  }
  return svg + fmt::format("<path class=\"axis\" d=\"M{} {}V{}H{}\"/>\n", kLeft, kTop,
                           kPlotHeight - kBottom, kPlotWidth - kRight);
}

/// Index of the first step of each part but the first.
std::set<std::size_t> borders_of(const LinePlot& plot) {
  std::set<std::size_t> borders;
  std::size_t step = 0;
  for (const PlotStage& stage : plot.stages)
    if (step += stage.steps; step > 0 && step < plot.y.size()) borders.insert(step);
  return borders;
}

/// Lines between the parts, and the label above the middle of each.
std::string stages_svg(const LinePlot& plot, const Scale& steps) {
  std::string svg;
  for (const std::size_t border : borders_of(plot))
    svg += fmt::format("<path class=\"border\" d=\"M{:.1f} {}V{}\"/>\n",
                       x_of(steps, static_cast<double>(border) + 0.5), kTop, kPlotHeight - kBottom);
  double before = 0.5;
  for (const PlotStage& stage : plot.stages) {
    const double after = before + static_cast<double>(stage.steps);
    const double middle = std::clamp((before + after) / 2, steps.low, steps.high);
    if (stage.steps > 0) svg += text_svg(x_of(steps, middle), kTop - 5, "middle", stage.label);
    before = after;
  }
  return svg;
}

std::string curve(const LinePlot& plot, const Scale& steps, const Scale& values) {
  std::string path, dot;
  bool pen_down = false;
  const std::set<std::size_t> borders = borders_of(plot);
  for (std::size_t index = 0; index < plot.y.size(); ++index) {
    const double value = plot.y[index];
    if (borders.contains(index)) pen_down = false;
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
  const double middle = (kTop + kPlotHeight - kBottom) / 2;
  std::string svg = fmt::format("<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\">\n",
                                kPlotWidth, kPlotHeight);
  svg += "<title>" + escape_html(plot.title) + "</title>\n";
  svg += grid(steps, values) + stages_svg(plot, steps) + curve(plot, steps, values);
  svg += text_svg((kLeft + kPlotWidth - kRight) / 2, kPlotHeight - 8, "middle", plot.x_label);
  svg += fmt::format(
      "<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}"
      "</text>\n",
      middle, escape_html(plot.y_label + (values.logarithmic ? ", log scale" : "")));
  return svg + "</svg>\n";
}

}  // namespace ptyche
