#include "ptyche/report/colours.h"

#include <algorithm>
#include <cmath>
#include <numbers>

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

}  // namespace

at::Tensor colours(ColourMap map, const at::Tensor& values, double low, double high) {
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

}  // namespace ptyche
