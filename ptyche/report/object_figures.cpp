#include "ptyche/report/object_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/report/ticks.h"

namespace ptyche {
namespace {

// The weakly lit rim is mostly noise: it is drawn, but has no say in the range of the colours, and
// the picture is cropped to where light really fell.
constexpr double cropped_below = 0.05, ranged_above = 0.1;

struct LitObject {
  at::Tensor object, unlit, well_lit;  ///< (rows, cols) inside the box
  PixelBox box;
};

LitObject lit_object(const Reconstruction& image) {
  require(image.object.defined() && image.object.dim() == 2 && image.object.numel() > 0,
          "object: a non-empty (rows, cols) array expected");
  require(image.coverage.defined() && image.coverage.sizes() == image.object.sizes(),
          "coverage: the object's shape {} expected", fmt::join(image.object.sizes(), " x "));
  const at::Tensor coverage = image.coverage.detach().cpu();
  const PixelBox box = bounding_box(lit_above(coverage, cropped_below));
  return {crop(image.object.detach().cpu(), box), crop(coverage <= 0, box),
          crop(lit_above(coverage, ranged_above), box), box};
}

Figure object_figure(const Reconstruction& image, const LitObject& lit, const at::Tensor& values,
                     const ColourBar& bar) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor shown = values.masked_fill(lit.unlit, none);
  Panel panel{"", colours(bar.map, shown, bar.low, bar.high),
              static_cast<double>(lit.box.row_begin), static_cast<double>(lit.box.col_begin)};
  return {"", {std::move(panel)}, image.geometry.object_pixel_m, bar};
}

std::string alt_text(const std::string& what, const LitObject& lit, const ColourBar& bar) {
  return fmt::format("{} of the object, {} by {} pixels, colours from {} to {}", what,
                     lit.box.rows(), lit.box.cols(), format_number(bar.low),
                     format_number(bar.high));
}

constexpr const char* crop_words =
    "Cropped to where the coverage exceeds 5 % of its maximum; light grey was never lit.";
constexpr const char* range_words = "The colours span the 1st to the 99th percentile.";

std::string mode_title(double share, std::int64_t mode, std::int64_t modes) {
  if (modes == 1) return "";
  return fmt::format("mode {}: {:.3g} %", mode + 1, 100 * share);
}

std::string probe_caption(double photons, std::int64_t modes, std::int64_t drawn) {
  std::string text = fmt::format("The probe: {} photons per pattern in {}.", format_number(photons),
                                 modes == 1 ? "one mode" : fmt::format("{} modes", modes));
  if (modes > 1) text += " Above each mode: its share of the power.";
  if (drawn < modes) text += fmt::format(" The first {} are drawn.", drawn);
  return text + " Hue is the phase, brightness the amplitude, full at the brightest half percent.";
}

/// What was taken from the phase; a ramp too small to be seen is not mentioned.
std::string removed_words(const DisplayPhase& display) {
  const auto rounded = [](double slope) { return std::round(slope * 1e4) / 1e4; };
  const double down = rounded(display.ramp_row_rad_per_px);
  const double right = rounded(display.ramp_col_rad_per_px);
  if (down == 0 && right == 0)
    return "For display only, its mean is removed: the patterns cannot tell it.";
  return fmt::format(
      "For display only, its mean and a linear ramp of {} (down) and {} (right) rad per pixel are "
      "removed: the patterns cannot tell either.",
      format_number(down), format_number(right));
}

}  // namespace

ColourBar phase_colours(const ValueRange& range_rad) {
  constexpr double pi = std::numbers::pi, winds_above_rad = 5;
  if (range_rad.high - range_rad.low > winds_above_rad)
    return {ColourMap::cyclic, -pi, pi, "phase (rad)"};
  return {ColourMap::grey, range_rad.low, range_rad.high, "phase (rad)"};
}

CaptionedFigure amplitude_figure(const Reconstruction& image) {
  const LitObject lit = lit_object(image);
  const at::Tensor amplitude = lit.object.abs();
  const ValueRange range = robust_range(amplitude, lit.well_lit);
  const ColourBar bar{ColourMap::sequential, range.low, range.high, "amplitude (1 = empty)"};
  Figure figure = object_figure(image, lit, amplitude, bar);
  figure.title = "Object amplitude";
  return {std::move(figure),
          fmt::format("Amplitude of the object's transmission, about 1 where there is no sample. "
                      "{} {}",
                      range_words, crop_words),
          alt_text("Amplitude", lit, bar)};
}

CaptionedFigure phase_figure(const Reconstruction& image) {
  const LitObject lit = lit_object(image);
  const DisplayPhase display = display_phase(lit.object, lit.well_lit);
  const ColourBar bar = phase_colours(robust_range(display.phase_rad, lit.well_lit));
  const bool winds = bar.map == ColourMap::cyclic;
  Figure figure = object_figure(image, lit, display.phase_rad, bar);
  figure.title = "Object phase";
  return {std::move(figure),
          fmt::format("Phase of the object's transmission. {} {} {}", removed_words(display),
                      winds ? "The colours close after a full turn." : range_words, crop_words),
          alt_text("Phase in rad", lit, bar)};
}

CaptionedFigure probe_figure(const Reconstruction& image) {
  require(image.probe.defined() && image.probe.dim() == 3 && image.probe.numel() > 0,
          "probe: a non-empty (modes, N, N) array expected");
  constexpr std::int64_t most_modes = 6;
  const at::Tensor probe = image.probe.detach().cpu();
  const std::int64_t modes = probe.size(0), drawn = std::min(modes, most_modes);
  const at::Tensor power = probe.abs().square().sum({1, 2}, false, at::kDouble);
  const double photons = power.sum().item<double>();
  Figure figure{"Probe", {}, image.geometry.object_pixel_m, ColourWheel{"amplitude"}};
  for (std::int64_t mode = 0; mode < drawn; ++mode) {
    const double share = photons > 0 ? power[mode].item<double>() / photons : 0;
    figure.panels.push_back(
        {mode_title(share, mode, modes), domain_colours(probe[mode], bright_level(probe[mode]))});
  }
  return {std::move(figure), probe_caption(photons, modes, drawn),
          fmt::format("Probe, {} by {} pixels, {} drawn", probe.size(1), probe.size(2),
                      drawn == 1 ? "one mode" : fmt::format("{} modes", drawn))};
}

}  // namespace ptyche
