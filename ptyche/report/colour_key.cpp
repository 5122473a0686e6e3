#include "ptyche/report/colour_key.h"

#include <algorithm>
#include <cmath>

#include "ptyche/report/ticks.h"

namespace ptyche {
namespace {

constexpr double bar_width_em = 1.4, wheel_width_em = 7;

void draw_bar(Canvas& canvas, const ColourBar& key, const Rectangle& where, double em) {
  const Rectangle bar{where.x, where.y, bar_width_em * em, where.height};
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
  const double radius = 2.4 * em, x = where.x + 0.5 * wheel_width_em * em;
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

}  // namespace

double key_width_em(const std::variant<ColourBar, ColourWheel>& key) {
  return std::holds_alternative<ColourBar>(key) ? bar_width_em + 5.6 : wheel_width_em + 2;
}

void draw_key(Canvas& canvas, const std::variant<ColourBar, ColourWheel>& key,
              const Rectangle& where, double em) {
  if (const auto* bar = std::get_if<ColourBar>(&key)) return draw_bar(canvas, *bar, where, em);
  draw_wheel(canvas, std::get<ColourWheel>(key), where, em);
}

}  // namespace ptyche
