#include "ptyche/report/figure.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/report/canvas.h"

namespace ptyche {

namespace {

constexpr double kPi = std::numbers::pi;

struct OkLab {
  at::Tensor lightness, a, b;
};

at::Tensor srgb_from_linear(const at::Tensor& linear) {
  const at::Tensor inside = linear.clamp(0, 1);
  return at::where(inside <= 0.0031308, inside * 12.92, inside.pow(1 / 2.4) * 1.055 - 0.055);
}

at::Tensor srgb(const OkLab& colour) {
  const auto& [lightness, a, b] = colour;
  const at::Tensor l = (lightness + 0.3963377774 * a + 0.2158037573 * b).pow(3);
  const at::Tensor m = (lightness - 0.1055613458 * a - 0.0638541728 * b).pow(3);
  const at::Tensor s = (lightness - 0.0894841775 * a - 1.2914855480 * b).pow(3);
  return srgb_from_linear(at::stack({4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
                                     -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
                                     -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s},
                                    -1));
}

// The numbers below are the largest chroma for which every colour of the curve can be shown by
// sRGB.

at::Tensor sequential_colours(const at::Tensor& t) {
  const at::Tensor hue = (300 - 200 * t) * (kPi / 180);
  return srgb({0.22 + 0.70 * t, 0.09 * hue.cos(), 0.09 * hue.sin()});
}

at::Tensor cyclic_colours(const at::Tensor& t) {
  const at::Tensor angle = (t - 0.5) * (2 * kPi);
  const at::Tensor hue = angle + 150 * kPi / 180;
  return srgb({0.72 + 0.14 * angle.cos(), 0.13 * hue.cos(), 0.13 * hue.sin()});
}

at::Tensor grey_colours(const at::Tensor& t) {
  return srgb({t, at::zeros_like(t), at::zeros_like(t)});
}

at::Tensor grey_where(const at::Tensor& missing, const at::Tensor& rgb) {
  return rgb.masked_fill(missing.unsqueeze(-1), kNoValueGrey);
}

double value_at(const at::Tensor& sorted, double fraction) {
  const auto last = static_cast<double>(sorted.size(0) - 1);
  return sorted[std::llround(fraction * last)].item<double>();
}

/// `colours` of some values.
at::Tensor colours_of_some(ColourMap map, const at::Tensor& values, double low, double high) {
  const at::Tensor missing = at::isfinite(values).logical_not();
  at::Tensor t = (values.masked_fill(missing, low).to(at::kDouble) - low) / (high - low);
  t = (map == ColourMap::cyclic ? t - t.floor() : t.clamp(0, 1)).to(at::kFloat);
  switch (map) {
    case ColourMap::sequential:
      return grey_where(missing, sequential_colours(t));
    case ColourMap::cyclic:
      return grey_where(missing, cyclic_colours(t));
    case ColourMap::grey:
      break;
  }
  return grey_where(missing, grey_colours(t));
}

}  // namespace

at::Tensor colours(ColourMap map, const at::Tensor& values, double low, double high) {
  constexpr std::int64_t kAtOnce = std::int64_t{1}
                                   << 18;  // values: each takes 200 bytes on the way
  const at::Tensor flat = values.reshape({-1});
  std::vector<std::int64_t> shape = values.sizes().vec();
  shape.push_back(3);
  at::Tensor all = at::empty(shape, at::kFloat);
  const at::Tensor lines = all.view({-1, 3});
  for (std::int64_t first = 0; first < flat.size(0); first += kAtOnce) {
    const std::int64_t count = std::min(kAtOnce, flat.size(0) - first);
    lines.narrow(0, first, count)
        .copy_(colours_of_some(map, flat.narrow(0, first, count), low, high));
  }
  return all;
}

at::Tensor domain_colours(const at::Tensor& values, double peak) {
  const at::Tensor missing = at::isfinite(values).logical_not();
  const at::Tensor known = values.masked_fill(missing, 0);
  const at::Tensor brightness = (known.abs() / peak).clamp(0, 1).to(at::kFloat);
  const at::Tensor hue = known.angle().to(at::kFloat);
  const at::Tensor chroma = 0.12 * brightness;
  return grey_where(missing, srgb({0.74 * brightness, chroma * hue.cos(), chroma * hue.sin()}));
}

ValueRange robust_range(const at::Tensor& values, const at::Tensor& mask) {
  const at::Tensor kept = values.masked_select(mask.logical_and(at::isfinite(values)));
  if (kept.numel() == 0) return {};
  const at::Tensor sorted = std::get<0>(kept.to(at::kDouble).sort());
  const ValueRange range{value_at(sorted, 0.01), value_at(sorted, 0.99)};
  const double size = std::max(std::abs(range.low), std::abs(range.high));
  if (range.high - range.low > 1e-6 * size) return range;
  const double margin = size > 0 ? 0.05 * size : 0.05;
  return {range.low - margin, range.high + margin};
}

at::Tensor everywhere(const at::Tensor& values) { return at::ones_like(values, at::kBool); }

ValueRange common_range(const std::vector<at::Tensor>& images) {
  const at::Tensor all = at::cat(images);
  return robust_range(all, everywhere(all));
}

double bright_level(const at::Tensor& values) {
  const at::Tensor amplitude = values.abs().nan_to_num(0, 0, 0).flatten();
  const double level = value_at(std::get<0>(amplitude.sort()), 0.995);
  return level > 0 ? level : 1;
}

namespace {

// Of up to three panels in a row; more make the sheet wider, not themselves smaller.
constexpr double kWantedLength = 1000, kLargestLength = 2000;
constexpr std::int64_t kUsualAcross = 3;

// The key beside a picture: what its colours mean.

constexpr double kBarWidth_em = 1.4, kWheelWidth_em = 7;

void draw_bar(Canvas& canvas, const ColourBar& key, const Rectangle& where, double em) {
  const Rectangle bar{where.x, where.y, kBarWidth_em * em, where.height};
  const at::Tensor values = at::linspace(key.high, key.low, 256, at::kDouble).unsqueeze(1);
  at::Tensor rgb = colours(key.map, values, key.low, key.high);
  if (key.map == ColourMap::cyclic) rgb[0] = rgb[-1];  // the loop's end has its beginning's colour
  canvas.image(rgb, bar);
  canvas.frame(bar, em / 14);
  const double right = bar.x + bar.width;
  const int at_most = std::clamp(static_cast<int>(where.height / (3 * em)), 2, 8);
  for (const Tick& tick : linear_ticks(key.low, key.high, at_most)) {
    const double y = bar.y + (key.high - tick.value) / (key.high - key.low) * bar.height;
    canvas.line(right, y, right + 0.35 * em, y, em / 14);
    canvas.text(tick.label, right + 0.6 * em, y, {.size = em});
  }
  canvas.text(key.label, right + 4.6 * em, bar.y + bar.height / 2,
              {.size = em, .anchor = Anchor::centre, .upwards = true});
}

/// A disc of the domain colours, radius `size` / 2, on white, its edge smoothed over one pixel.
at::Tensor wheel_colours(std::int64_t size) {
  const at::Tensor line =
      (at::arange(size, at::kDouble) + 0.5) * (2.0 / static_cast<double>(size)) - 1;
  const at::Tensor disc = at::complex(line.unsqueeze(0).expand({size, size}).contiguous(),
                                      -line.unsqueeze(1).expand({size, size}).contiguous());
  const at::Tensor inside = ((1 - disc.abs()) * (0.5 * static_cast<double>(size)) + 0.5)
                                .clamp(0, 1)
                                .unsqueeze(-1)
                                .to(at::kFloat);
  return domain_colours(disc, 1) * inside + (1 - inside);
}

void draw_wheel(Canvas& canvas, const ColourWheel& key, const Rectangle& where, double em) {
  const double radius = 2.4 * em, x = where.x + 0.5 * kWheelWidth_em * em;
  const double y = where.y + radius + 1.4 * em;
  canvas.image(wheel_colours(static_cast<std::int64_t>(2 * radius)),
               {std::round(x - radius), std::round(y - radius), 2 * radius, 2 * radius});
  const TextStyle centred{.size = em, .anchor = Anchor::centre};
  const double reach = radius + 0.7 * em;
  canvas.text("0", x + reach, y, centred);
  canvas.text("\u03c0/2", x, y - reach, centred);
  canvas.text("\u03c0", x - reach, y, centred);
  canvas.text("\u2212\u03c0/2", x, y + reach, centred);
  const TextStyle small{.size = 0.85 * em, .anchor = Anchor::centre};
  canvas.text("hue: phase (rad)", x, y + radius + 2.2 * em, small);
  canvas.text("brightness:", x, y + radius + 3.5 * em, small);
  canvas.text(key.label, x, y + radius + 4.6 * em, small);
}

/// Width that the key needs, in units of the text size.
double key_width_em(const std::variant<ColourBar, ColourWheel>& key) {
  return std::holds_alternative<ColourBar>(key) ? kBarWidth_em + 5.6 : kWheelWidth_em + 2;
}

/// Draws the key into `where`; `em` is the text size in sheet pixels.
void draw_key(Canvas& canvas, const std::variant<ColourBar, ColourWheel>& key,
              const Rectangle& where, double em) {
  if (const auto* bar = std::get_if<ColourBar>(&key)) return draw_bar(canvas, *bar, where, em);
  draw_wheel(canvas, std::get<ColourWheel>(key), where, em);
}

// Panels with their axes.

/// Where everything goes, in sheet pixels; `em` is the size of plain text.
struct Layout {
  std::int64_t across = 1, down = 1;  // panels
  double em = 16, panel_width = 0, panel_height = 0;
  double top = 0, left = 0, bottom = 0, gap = 0, panel_top = 0, key_width = 0;
  double above = 0;  // of the sheet, taken by other figures

  double cell_width() const { return left + panel_width + gap; }
  double cell_height() const { return panel_top + panel_height + bottom; }
  double width() const { return static_cast<double>(across) * cell_width() + key_width; }
  double height() const { return top + static_cast<double>(down) * cell_height(); }
  Rectangle panel(std::size_t index) const {
    const auto row = static_cast<double>(static_cast<std::int64_t>(index) / across);
    const auto col = static_cast<double>(static_cast<std::int64_t>(index) % across);
    return {col * cell_width() + left, above + top + row * cell_height() + panel_top, panel_width,
            panel_height};
  }
};

void require_panels(const Figure& figure) {
  require(!figure.panels.empty(), "figure '{}' has no picture", figure.title);
  for (const Panel& panel : figure.panels)
    require(panel.rgb.dim() == 3 && panel.rgb.size(2) == 3 && panel.rgb.numel() > 0,
            "figure '{}': a picture of shape (rows, cols, 3) expected, found {}", figure.title,
            fmt::join(panel.rgb.sizes(), " x "));
}

Layout layout_of(const Figure& figure) {
  Layout layout;
  const auto count = static_cast<std::int64_t>(figure.panels.size());
  layout.across = std::min(count, figure.most_across);
  layout.down = (count + layout.across - 1) / layout.across;
  const auto rows = static_cast<double>(figure.panels[0].rgb.size(0));
  const auto cols = static_cast<double>(figure.panels[0].rgb.size(1));
  const double wider = static_cast<double>(std::max(layout.across, kUsualAcross)) /
                       static_cast<double>(kUsualAcross);
  const double longest = std::max(rows, cols * static_cast<double>(layout.across)) / wider;
  const double zoom = longest > kLargestLength ? 1 / std::ceil(longest / kLargestLength)
                                               : std::max(1.0, std::floor(kWantedLength / longest));
  layout.panel_width = std::ceil(zoom * cols);
  layout.panel_height = std::ceil(zoom * rows);
  layout.em = std::max(12.0, zoom * longest / 30);
  const bool titled = std::any_of(figure.panels.begin(), figure.panels.end(),
                                  [](const Panel& panel) { return !panel.title.empty(); });
  layout.top = std::round(2.2 * layout.em);
  layout.panel_top = std::round((titled ? 1.8 : 0.5) * layout.em);
  layout.left = std::round(4.6 * layout.em);
  layout.bottom = std::round(3.6 * layout.em);
  layout.gap = std::round(1.2 * layout.em);
  layout.key_width = std::round(key_width_em(figure.key) * layout.em);
  return layout;
}

/// Block means, so that the picture has at most the size at which it is drawn.
at::Tensor reduced(const at::Tensor& rgb, const Rectangle& where) {
  const auto factor =
      static_cast<std::int64_t>(std::llround(static_cast<double>(rgb.size(1)) / where.width));
  if (factor < 2) return rgb;
  const at::Tensor planes = rgb.permute({2, 0, 1}).to(at::kFloat);
  return at::avg_pool2d(planes, factor, factor, 0, /*ceil_mode=*/true).permute({1, 2, 0});
}

/// One axis of a picture: its pixels, counted from `first`, span `length` sheet pixels.
struct Axis {
  double first, count, pixel, length;  // pixel: size in the unit of the labels
  double low() const { return (first - 0.5) * pixel; }
  double high() const { return (first + count - 0.5) * pixel; }
  double place(double value) const { return (value - low()) / (high() - low()) * length; }
  std::vector<Tick> ticks(double em) const {
    const int at_most = std::clamp(static_cast<int>(length / (3.5 * em)), 2, 8);
    return linear_ticks(low(), high(), at_most);
  }
};

void draw_axes(Canvas& canvas, const Figure& figure, const Panel& panel, const Rectangle& where,
               double em) {
  const auto rows = static_cast<double>(panel.rgb.size(0));
  const auto cols = static_cast<double>(panel.rgb.size(1));
  const bool physical = figure.pixel_m > 0;
  const LengthUnit unit = physical ? length_unit(std::max(rows, cols) * figure.pixel_m)
                                   : LengthUnit{figure.axis_unit, 1};
  const double pixel = physical ? figure.pixel_m / unit.metres : 1;
  const double bottom = where.y + where.height, mark = 0.35 * em, thin = em / 14;
  const Axis across{panel.first_col, cols, pixel, where.width};
  for (const Tick& tick : across.ticks(em)) {
    const double x = where.x + across.place(tick.value);
    canvas.line(x, bottom, x, bottom + mark, thin);
    canvas.text(tick.label, x, bottom + 1.05 * em, {.size = em, .anchor = Anchor::centre});
  }
  const Axis down{panel.first_row, rows, pixel, where.height};
  for (const Tick& tick : down.ticks(em)) {
    const double y = where.y + down.place(tick.value);
    canvas.line(where.x - mark, y, where.x, y, thin);
    canvas.text(tick.label, where.x - 0.6 * em, y, {.size = em, .anchor = Anchor::right});
  }
  canvas.text("column (" + unit.name + ")", where.x + where.width / 2, bottom + 2.4 * em,
              {.size = em, .anchor = Anchor::centre});
  canvas.text("row (" + unit.name + ")", where.x - 3.8 * em, where.y + where.height / 2,
              {.size = em, .anchor = Anchor::centre, .upwards = true});
  canvas.frame(where, thin);
}

void draw_scale_bar(Canvas& canvas, double sheet_pixel_m, const Rectangle& where, double em) {
  const double length_m = round_length(0.3 * where.width * sheet_pixel_m);
  const TextStyle style{.size = em, .anchor = Anchor::centre, .bold = true, .grey = 1};
  const std::string label = format_length(length_m);
  const double length = length_m / sheet_pixel_m;
  const double box_width = std::max(length, canvas.text_width(label, style)) + 1.2 * em;
  const Rectangle box{where.x + 0.6 * em, where.y + where.height - 2.9 * em, box_width, 2.3 * em};
  canvas.fill(box, 0, 0.6);
  const double middle = box.x + box_width / 2;
  canvas.fill({middle - length / 2, box.y + 1.7 * em, length, 0.25 * em}, 1);
  canvas.text(label, middle, box.y + 0.85 * em, style);
}

/// Lines that lead to dots, small enough that neighbours stay apart.
void draw_marks(Canvas& canvas, const Panel& panel, const Rectangle& where) {
  const double scale = where.width / static_cast<double>(panel.rgb.size(1));
  const auto x_of = [&](double col) { return where.x + (col - panel.first_col + 0.5) * scale; };
  const auto y_of = [&](double row) { return where.y + (row - panel.first_row + 0.5) * scale; };
  const double few = std::sqrt(static_cast<double>(std::max<std::size_t>(panel.marks.size(), 1)));
  const double size = std::clamp(0.22 * where.width / few, 3.0, 14.0);
  const Colour line{0.835, 0.369, 0}, dot{0, 0.447, 0.698};  // vermilion and blue of Okabe & Ito
  for (const Mark& mark : panel.marks)
    canvas.path({{x_of(mark.from_col), y_of(mark.from_row)}, {x_of(mark.col), y_of(mark.row)}},
                {.width = 0.5 * size, .colour = line});
  for (const Mark& mark : panel.marks) {
    const double x = x_of(mark.col), y = y_of(mark.row);
    canvas.path({{x - size / 2, y}, {x + size / 2, y}}, {.width = size, .colour = dot});
  }
}

void draw_panel(Canvas& canvas, const Figure& figure, const Panel& panel, const Rectangle& where,
                double em) {
  canvas.image(reduced(panel.rgb, where), where);
  draw_marks(canvas, panel, where);
  draw_axes(canvas, figure, panel, where, em);
  canvas.text(panel.title, where.x + where.width / 2, where.y - 0.9 * em,
              {.size = em, .anchor = Anchor::centre});
}

void draw_figure(Canvas& canvas, const Figure& figure, const Layout& layout) {
  canvas.text(figure.title, layout.left, layout.above + 1.3 * layout.em,
              {.size = 1.25 * layout.em, .bold = true});
  for (std::size_t index = 0; index < figure.panels.size(); ++index)
    draw_panel(canvas, figure, figure.panels[index], layout.panel(index), layout.em);
  const Rectangle first = layout.panel(0);
  if (figure.pixel_m > 0) {
    const auto cols = static_cast<double>(figure.panels[0].rgb.size(1));
    draw_scale_bar(canvas, figure.pixel_m * cols / first.width, first, layout.em);
  }
  const double key_left = static_cast<double>(layout.across) * layout.cell_width();
  draw_key(canvas, figure.key, {key_left, first.y, layout.key_width, first.height}, layout.em);
}

}  // namespace

std::string render_png(const Figure& figure) { return render_stacked_png({figure}); }

std::string render_stacked_png(const std::vector<Figure>& figures) {
  std::vector<Layout> layouts;
  double width = 0, height = 0;
  for (const Figure& figure : figures) {
    require_panels(figure);
    layouts.push_back(layout_of(figure));
    layouts.back().above = height;
    height += layouts.back().height();
    width = std::max(width, layouts.back().width());
  }
  Canvas canvas(width, height);
  for (std::size_t index = 0; index < figures.size(); ++index)
    draw_figure(canvas, figures[index], layouts[index]);
  return canvas.png();
}

}  // namespace ptyche
