#include "ptyche/report/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ptyche/core/files.h"
#include "ptyche/data/array.h"
#include "ptyche/data/probe.h"
#include "ptyche/prepare/likeness.h"
#include "ptyche/prepare/patterns.h"
#include "ptyche/report/canvas.h"
#include "ptyche/report/figure.h"

namespace ptyche {
namespace {

constexpr double kPanelSide = 420, kPanelGap = 90, kSheetTop = 70, kLetter = 15;
constexpr Colour kMark{0.84, 0.37, 0.0}, kCurve{0.0, 0.45, 0.7}, kPale{0.6, 0.6, 0.6};

Rectangle panel(int index) {
  return {kPanelGap + (index % 3) * (kPanelSide + kPanelGap),
          kSheetTop + (index / 3) * (kPanelSide + kPanelGap), kPanelSide, kPanelSide};
}

void head(Canvas& canvas, const Rectangle& area, const std::string& title) {
  canvas.text(title, area.x, area.y - 0.9 * kLetter, {.size = kLetter, .bold = true});
}

/// Where x and y in 0..1 lie, y upwards.
Point inside(const Rectangle& area, double x, double y) {
  return {area.x + x * area.width, area.y + (1 - y) * area.height};
}

/// A pattern in log scale, masked pixels without a value, a cross at (N/2, N/2).
void draw_pattern(Canvas& canvas, const Rectangle& area, const at::Tensor& pattern,
                  const at::Tensor& mask, const std::string& title) {
  const at::Tensor level = pattern.to(at::kDouble).clamp_min(0).add(1e-12);
  const double high = std::log10(std::max(level.max().item<double>(), 1e-6));
  const at::Tensor shown = level.log10().masked_fill(mask.logical_not(), NAN);
  canvas.image(colours(ColourMap::sequential, shown, high - 5, high), area);
  const auto pixel = area.width / static_cast<double>(pattern.size(0));
  const double middle = (static_cast<double>(pattern.size(0) / 2) + 0.5) * pixel;
  const Pen pen{1.5, kMark, {}};
  canvas.path({{area.x + middle - 12, area.y + middle}, {area.x + middle + 12, area.y + middle}},
              pen);
  canvas.path({{area.x + middle, area.y + middle - 12}, {area.x + middle, area.y + middle + 12}},
              pen);
  canvas.frame(area, 1);
  head(canvas, area, title);
}

void axis_text(Canvas& canvas, const Rectangle& area, const std::string& below,
               const std::string& beside) {
  canvas.text(below, area.x + area.width / 2, area.y + area.height + 2.6 * kLetter,
              {.size = kLetter, .anchor = Anchor::centre});
  canvas.text(beside, area.x - 3.6 * kLetter, area.y + area.height / 2,
              {.size = kLetter, .anchor = Anchor::centre, .upwards = true});
}

struct Axes {
  double left, right, bottom, top;
};

void draw_axes_of(Canvas& canvas, const Rectangle& area, const Axes& axes) {
  for (const Tick& tick :
       linear_ticks(std::min(axes.left, axes.right), std::max(axes.left, axes.right), 5))
    canvas.text(tick.label, inside(area, (tick.value - axes.left) / (axes.right - axes.left), 0).x,
                area.y + area.height + kLetter, {.size = kLetter, .anchor = Anchor::centre});
  for (const Tick& tick :
       linear_ticks(std::min(axes.bottom, axes.top), std::max(axes.bottom, axes.top), 5))
    canvas.text(tick.label, area.x - 6,
                inside(area, 0, (tick.value - axes.bottom) / (axes.top - axes.bottom)).y,
                {.size = kLetter, .anchor = Anchor::right});
  canvas.frame(area, 1);
}

void draw_curve(Canvas& canvas, const Rectangle& area, const Axes& axes,
                const std::vector<double>& x, const std::vector<double>& y, const Pen& pen) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < x.size(); ++i)
    points.push_back(inside(area, (x[i] - axes.left) / (axes.right - axes.left),
                            std::clamp((y[i] - axes.bottom) / (axes.top - axes.bottom), 0.0, 1.0)));
  canvas.path(points, pen);
  draw_axes_of(canvas, area, axes);
}

/// In the order in which they were taken, with a circle of the probe's diameter about the first.
void draw_positions(Canvas& canvas, const Rectangle& area, const Scan& scan) {
  const at::Tensor places = scan.positions();
  const at::Tensor low = std::get<0>(places.min(0)), high = std::get<0>(places.max(0));
  const double diameter =
      std::min(probe_diameter_px(scan.probe()), static_cast<double>(scan.pattern_size()));
  const double span = std::max({(high - low).max().item<double>(), 1e-12}) + diameter;
  const double row = 0.5 * (low[0] + high[0]).item<double>(),
               col = 0.5 * (low[1] + high[1]).item<double>();
  const Axes axes{col - span / 2, col + span / 2, row - span / 2, row + span / 2};
  const std::vector<double> all = to_vector(places.flatten().contiguous());
  const auto place = [&](double r, double c) {
    return inside(area, (c - axes.left) / span, 1 - (r - axes.bottom) / span);
  };
  std::vector<Point> path, ring;
  for (std::size_t k = 0; k < all.size(); k += 2) path.push_back(place(all[k], all[k + 1]));
  canvas.path(path, {0.7, kPale, {}});
  for (const Point& at : path)
    canvas.path({{at.x - 1.5, at.y}, {at.x + 1.5, at.y}}, {3, kCurve, {}});
  for (int step = 0; step <= 60; ++step)
    ring.push_back(place(all[0] + diameter / 2 * std::sin(step * M_PI / 30),
                         all[1] + diameter / 2 * std::cos(step * M_PI / 30)));
  canvas.path(ring, {1.5, kMark, {}});
  draw_axes_of(canvas, area, {axes.left, axes.right, axes.top, axes.bottom});
  axis_text(canvas, area, "column, object pixels", "row");
  head(canvas, area, "Positions; circle: 90 % of the probe");
}

void draw_totals(Canvas& canvas, const Rectangle& area, const Patterns& patterns) {
  const std::vector<double> totals = to_vector(patterns.totals);
  std::vector<double> frames;
  for (std::int64_t k = 0; k < patterns.size(); ++k)
    frames.push_back(patterns.frames[k].item<double>());
  const double top = std::max(1.2 * patterns.totals.max().item<double>(), 1e-9);
  draw_curve(canvas, area, {frames.front(), std::max(frames.back(), frames.front() + 1), 0, top},
             frames, totals, {1.2, kCurve, {}});
  axis_text(canvas, area, "frame", "");
  head(canvas, area, "Counts per pattern");
}

/// How many pixels hold each value up to 60 times the smallest one above 0, four bins to each of
/// its multiples: whole counts make a comb.
void draw_histogram(Canvas& canvas, const Rectangle& area, const at::Tensor& counts) {
  const at::Tensor lit = counts.masked_select(counts.gt(0));
  if (lit.numel() == 0) return;
  constexpr std::int64_t kBins = 240;
  const double unit = lit.min().item<double>(), last = 60 * unit;
  const at::Tensor bins = at::histc(lit, kBins, 0, last);
  std::vector<double> x, y;
  for (std::int64_t i = 0; i < kBins; ++i) {
    x.push_back((static_cast<double>(i) + 0.5) * last / kBins);
    y.push_back(std::log10(1 + bins[i].item<double>()));
  }
  draw_curve(canvas, area, {0, last, 0, std::max(*std::ranges::max_element(y), 1.0)}, x, y,
             {1.2, kCurve, {}});
  axis_text(canvas, area, "value", "log10 of (1 + pixels)");
  head(canvas, area, "Histogram (a comb: whole counts)");
}

void draw_odd(Canvas& canvas, const Rectangle& area, const Patterns& patterns) {
  constexpr double kReach = 3;
  const at::Tensor map =
      odd_map(likeness_of(patterns.counts, patterns.mask), patterns.positions, kReach, 30);
  const double most = std::max(map.abs().max().item<double>(), 1e-9);
  canvas.image(colours(ColourMap::grey, map, -most, most), area);
  draw_axes_of(canvas, area, {-kReach, kReach, kReach, -kReach});
  axis_text(canvas, area, "pattern px per position px, along the step", "across it");
  head(canvas, area, fmt::format("Odd correlation of neighbours, \u00b1{:.2g}", most));
}

}  // namespace

std::string checks_png(const Scan& scan, const Treatment& treatment) {
  const Patterns patterns = patterns_of(scan);
  const std::size_t lines = treatment.done.size() + treatment.diagnosis.findings.size();
  Canvas canvas(
      4 * kPanelGap + 3 * kPanelSide,
      kSheetTop + 2 * (kPanelSide + kPanelGap) + (static_cast<double>(lines) + 2) * 1.6 * kLetter);
  canvas.text(scan.source(), kPanelGap, 1.4 * kLetter, {.size = 1.3 * kLetter, .bold = true});
  draw_pattern(canvas, panel(0), patterns.counts.mean(0), scan.mask(),
               "Mean pattern, five decades");
  draw_pattern(canvas, panel(1), patterns.counts[patterns.totals.argmax().item<std::int64_t>()],
               scan.mask(), "Brightest pattern");
  draw_positions(canvas, panel(2), scan);
  draw_totals(canvas, panel(3), patterns);
  draw_histogram(canvas, panel(4), patterns.counts);
  draw_odd(canvas, panel(5), patterns);
  double y = kSheetTop + 2 * (kPanelSide + kPanelGap) + kLetter;
  for (const auto* list : {&treatment.done, &treatment.diagnosis.findings})
    for (const Finding& each : *list) {
      canvas.text(fmt::format("{}: {}", to_string(each.level), each.cause), kPanelGap, y,
                  {.size = kLetter});
      y += 1.6 * kLetter;
    }
  if (lines == 0) canvas.text("nothing found", kPanelGap, y, {.size = kLetter});
  return canvas.png();
}

void write_check(const std::filesystem::path& folder, const Scan& scan,
                 const Treatment& treatment) {
  require_writable_folder(folder);
  nlohmann::ordered_json json;
  for (const auto* list : {&treatment.done, &treatment.diagnosis.findings})
    for (const Finding& each : *list)
      json["findings"].push_back({{"level", to_string(each.level)},
                                  {"cause", each.cause},
                                  {"text", each.text},
                                  {"before", each.before},
                                  {"after", each.after}});
  for (const auto& [name, value] : treatment.diagnosis.numbers) json["numbers"][name] = value;
  write_text(folder / "checks.json", json.dump(2));
  write_text(folder / "checks.png", checks_png(scan, treatment));
}

}  // namespace ptyche
