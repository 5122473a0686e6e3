#include "ptyche/report/result_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "ptyche/core/error.h"
#include "ptyche/data/probe.h"
#include "ptyche/evaluate/align.h"
#include "ptyche/evaluate/image_error.h"
#include "ptyche/report/canvas.h"

namespace ptyche {
namespace {

constexpr double kTwoPi = 2 * std::numbers::pi;

/// First and one past the last true index of a (n) bool tensor; 0..n where none is true.
std::array<std::int64_t, 2> true_span(const at::Tensor& line) {
  const at::Tensor index = line.nonzero();
  if (index.size(0) == 0) return {0, line.size(0)};
  return {index[0].item<std::int64_t>(), index[-1].item<std::int64_t>() + 1};
}

/// exp(-2 pi i f x) for each frequency f and x = 0..length-1: (frequencies, length) complex64.
at::Tensor fourier_rows(const at::Tensor& frequencies, std::int64_t length) {
  const at::Tensor turns = at::outer(frequencies, at::arange(length, at::kDouble));
  return at::polar(at::ones_like(turns), -kTwoPi * turns).to(at::kComplexFloat);
}

/// Frequencies (cycles per pixel, row and col) of the strongest plane wave in `field`.
std::array<double, 2> refined_frequency(const at::Tensor& field) {
  constexpr int kSteps = 20;
  const std::array<std::int64_t, 2> size{field.size(0), field.size(1)};
  std::array<double, 2> peak = strongest_frequency(field, 1);
  for (const double reach_bins : {1.0, 1.0 / kSteps, 1.0 / (kSteps * kSteps)}) {
    std::array<at::Tensor, 2> tried;
    for (int axis : {0, 1}) {
      const double reach = reach_bins / static_cast<double>(size[axis]);
      tried[axis] =
          at::linspace(peak[axis] - reach, peak[axis] + reach, 2 * kSteps + 1, at::kDouble);
    }
    const at::Tensor spectrum =
        fourier_rows(tried[0], size[0]).matmul(field).matmul(fourier_rows(tried[1], size[1]).t());
    const auto best = peak_of(spectrum.abs());
    for (int axis : {0, 1}) peak[axis] = tried[axis][best[axis]].item<double>();
  }
  for (double& frequency : peak) frequency -= std::round(frequency);
  return peak;
}

}  // namespace

at::Tensor lit_above(const at::Tensor& coverage, double fraction) {
  const at::Tensor lit = lit_pixels(coverage.nan_to_num(0, 0, 0), fraction);
  return lit.any().item<bool>() ? lit : at::ones_like(lit);
}

Window bounding_box(const at::Tensor& mask) {
  const auto rows = true_span(mask.any(1));
  const auto cols = true_span(mask.any(0));
  return {rows[0], rows[1], cols[0], cols[1]};
}

DisplayPhase display_phase(const at::Tensor& object, const at::Tensor& mask) {
  const at::Tensor kept = mask.logical_and(at::isfinite(object));
  const at::Tensor field = object.to(at::kComplexFloat).masked_fill(kept.logical_not(), 0);
  const auto frequency = refined_frequency(field);
  const auto against = [&](int axis) {
    return fourier_rows(at::full({1}, frequency[axis], at::kDouble), object.size(axis));
  };
  const at::Tensor wave = against(0).t() * against(1);
  const at::Tensor minus_mean = (field * wave).sum().conj().sgn();
  const at::Tensor phase = (object.to(at::kComplexFloat) * wave * minus_mean).angle();
  return {phase, kTwoPi * frequency[0], kTwoPi * frequency[1]};
}

// One image.

namespace {

// The weakly lit rim is mostly noise: it is drawn, but has no say in the range of the colours, and
// the picture is cropped to where light really fell.
constexpr double kCroppedBelow = 0.05, kRangedAbove = 0.1;

struct LitObject {
  at::Tensor object, unlit, well_lit;  ///< (rows, cols) inside the box
  Window box;
};

/// The part of `window` that the object has; throws where that is nothing.
Window part_inside(const Window& window, const at::Tensor& object) {
  const Window part{
      std::max<std::int64_t>(window.row_begin, 0), std::min(window.row_end, object.size(0)),
      std::max<std::int64_t>(window.col_begin, 0), std::min(window.col_end, object.size(1))};
  require(part.rows() > 0 && part.cols() > 0,
          "expected some of the object's {} x {} pixels, found rows {} to {} and columns {} to {}",
          object.size(0), object.size(1), window.row_begin, window.row_end, window.col_begin,
          window.col_end);
  return part;
}

LitObject lit_object(const Reconstruction& image, const Drawing& how) {
  require(image.object.defined() && image.object.dim() == 3 && image.object.numel() > 0,
          "object: a non-empty (rows, cols) array expected");
  require(image.coverage.defined() && image.coverage.sizes() == image.projection().sizes(),
          "coverage: the object's shape {} expected", fmt::join(image.projection().sizes(), " x "));
  const at::Tensor coverage = image.coverage.detach().cpu();
  const Window box = how.crop ? part_inside(*how.crop, image.projection())
                              : bounding_box(lit_above(coverage, kCroppedBelow));
  return {cut(image.projection().detach().cpu(), box), cut(coverage <= 0, box),
          cut(lit_above(coverage, kRangedAbove), box), box};
}

/// Amplitude of the empty sample; 0 where it is not known.
OpenField empty_of(const Reconstruction& image, const LitObject& lit, const Drawing& how) {
  if (how.empty_amplitude) return {*how.empty_amplitude, 0};
  if (how.empty)
    return {cut(image.projection().detach().cpu(), part_inside(*how.empty, image.projection()))
                .abs()
                .mean()
                .item<double>(),
            0};
  return open_field(lit.object.abs(), lit.well_lit).value_or(OpenField{0, 0});
}

Figure object_figure(const Reconstruction& image, const LitObject& lit, const at::Tensor& values,
                     const ColourBar& bar) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor shown = values.masked_fill(lit.unlit, kNone);
  Panel panel{"", colours(bar.map, shown, bar.low, bar.high),
              static_cast<double>(lit.box.row_begin), static_cast<double>(lit.box.col_begin)};
  return {"", {std::move(panel)}, image.geometry.object_pixel_m, bar};
}

std::string alt_text(const std::string& what, const LitObject& lit, const ColourBar& bar) {
  return fmt::format("{} of the object, {} by {} pixels, colours from {} to {}", what,
                     lit.box.rows(), lit.box.cols(), format_number(bar.low),
                     format_number(bar.high));
}

constexpr const char* kCropWords =
    "Cropped to where the coverage exceeds 5 % of its maximum; light grey was never lit.";
constexpr const char* kRangeWords = "The colours span the 1st to the 99th percentile.";

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
  constexpr double kPi = std::numbers::pi, kWindsAbove_rad = 5;
  if (range_rad.high - range_rad.low > kWindsAbove_rad)
    return {ColourMap::cyclic, -kPi, kPi, "phase (rad)"};
  return {ColourMap::grey, range_rad.low, range_rad.high, "phase (rad)"};
}

std::optional<OpenField> open_field(const at::Tensor& amplitude, const at::Tensor& mask) {
  constexpr std::int64_t kBins = 400;
  constexpr double kLeastShare = 1.0 / 12, kMostAbove = 0.03, kMostBeside = 0.7;
  constexpr double kNarrow = 0.04, kBroad = 0.12;
  const at::Tensor values =
      amplitude.masked_select(mask.logical_and(at::isfinite(amplitude))).to(at::kFloat);
  if (values.numel() == 0) return std::nullopt;
  const double most = 1.2 * bright_level(values);
  const at::Tensor bins = at::histc(values, kBins, 0, most);
  const at::Tensor smooth = at::avg_pool1d(bins.view({1, 1, -1}), 7, 1, 3).flatten();
  const std::int64_t top = smooth.argmax().item<std::int64_t>();
  const double peak = (static_cast<double>(top) + 0.5) * most / kBins;
  // Noise makes the peak broad: two and a half times the way to where it has fallen to a half.
  const at::Tensor fallen = smooth.slice(0, top).lt(0.5 * smooth[top]).nonzero();
  const double half =
      fallen.size(0) > 0 ? fallen[0][0].item<double>() * most / kBins : kBroad * peak;
  const double width = std::clamp(2.5 * half / peak, kNarrow, kBroad) * peak;
  const at::Tensor near = (values - peak).abs() <= width;
  const double share = near.to(at::kDouble).mean().item<double>();
  const double above = (values > peak + width).to(at::kDouble).mean().item<double>();
  // Where the values only end, as many lie below as near: an edge of the histogram, no peak.
  const at::Tensor beside = (values - (peak - 2 * width)).abs() < width;
  const double below = beside.to(at::kDouble).mean().item<double>();
  if (share < kLeastShare || above > kMostAbove || below > kMostBeside * share) return std::nullopt;
  return OpenField{values.masked_select(near).median().item<double>(), share};
}

Drawing drawing_of(const Reconstruction& image, const std::optional<Window>& empty) {
  Drawing how{.empty = empty};
  const LitObject lit = lit_object(image, how);
  how.crop = lit.box;
  how.empty_amplitude = empty_of(image, lit, how).amplitude;
  const double unit = *how.empty_amplitude > 0 ? *how.empty_amplitude : 1;
  how.amplitude_range = robust_range(lit.object.abs() / unit, lit.well_lit);
  how.phase_range_rad =
      robust_range(display_phase(lit.object, lit.well_lit).phase_rad, lit.well_lit);
  return how;
}

namespace {

/// What the numbers of an amplitude mean.
std::string scale_words(const OpenField& empty, const Drawing& how) {
  if (empty.amplitude <= 0)
    return "Its scale is that of the file: no part of the picture is plainly without a sample.";
  if (how.empty || empty.share == 0) return "Scaled so that the part without a sample is 1.";
  return fmt::format(
      "Scaled so that the brightest even part, {:.0f} % of the picture, taken for no sample, is 1.",
      100 * empty.share);
}

}  // namespace

CaptionedFigure amplitude_figure(const Reconstruction& image, const Drawing& how) {
  const LitObject lit = lit_object(image, how);
  const OpenField empty = empty_of(image, lit, how);
  const bool scaled = empty.amplitude > 0;
  const at::Tensor amplitude = lit.object.abs() / (scaled ? empty.amplitude : 1.0);
  const ValueRange range = how.amplitude_range.value_or(robust_range(amplitude, lit.well_lit));
  const ColourBar bar{ColourMap::sequential, range.low, range.high,
                      scaled ? "amplitude (1 = no sample)" : "amplitude"};
  Figure figure = object_figure(image, lit, amplitude, bar);
  figure.title = "Object amplitude";
  return {std::move(figure),
          fmt::format("Amplitude of the object's transmission. {} {} {}", scale_words(empty, how),
                      kRangeWords, kCropWords),
          alt_text("Amplitude", lit, bar)};
}

CaptionedFigure phase_figure(const Reconstruction& image, const Drawing& how) {
  const LitObject lit = lit_object(image, how);
  const DisplayPhase display = display_phase(lit.object, lit.well_lit);
  const ColourBar bar =
      phase_colours(how.phase_range_rad.value_or(robust_range(display.phase_rad, lit.well_lit)));
  const bool winds = bar.map == ColourMap::cyclic;
  Figure figure = object_figure(image, lit, display.phase_rad, bar);
  figure.title = "Object phase";
  return {std::move(figure),
          fmt::format("Phase of the object's transmission. {} {} {}", removed_words(display),
                      winds ? "The colours close after a full turn." : kRangeWords, kCropWords),
          alt_text("Phase in rad", lit, bar)};
}

CaptionedFigure coverage_figure(const Reconstruction& image) {
  const LitObject lit = lit_object(image, {});
  const at::Tensor light = cut(image.coverage.detach().cpu(), lit.box);
  const ColourBar bar{ColourMap::sequential, 0, 1, "light over the most"};
  Figure figure = object_figure(image, lit, light / light.max().clamp_min(1e-30), bar);
  figure.title = "Coverage";
  return {std::move(figure),
          fmt::format("How much light fell where, all patterns together. {}", kCropWords),
          alt_text("Coverage", lit, bar)};
}

CaptionedFigure probe_figure(const Reconstruction& image) {
  require(image.probe.defined() && image.probe.dim() == 4 && image.probe.numel() > 0,
          "probe: a non-empty (modes, N, N) array expected");
  constexpr std::int64_t kMostModes = 6;
  const at::Tensor probe = image.main_probe().detach().cpu();
  const std::int64_t modes = probe.size(0), drawn = std::min(modes, kMostModes);
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

// Two images.

namespace {

/// A picture in its place in the reference.
Panel panel_of(const std::string& title, const at::Tensor& values, const ColourBar& bar,
               const Window& window) {
  return {title, colours(bar.map, values.to(at::kFloat), bar.low, bar.high),
          static_cast<double>(window.row_begin), static_cast<double>(window.col_begin)};
}

CaptionedFigure pair_of(const ComparedImages& compared, const ComparedNames& names,
                        const at::Tensor& image, const at::Tensor& reference, const ColourBar& bar,
                        const std::string& title, const std::string& caption) {
  const Comparison& numbers = compared.comparison;
  const Panel left = panel_of(names.image, image, bar, numbers.window);
  const Panel right = panel_of(names.reference, reference, bar, numbers.window);
  return {
      {title, {left, right}, numbers.object_pixel_m, bar},
      caption,
      fmt::format("{} of both images, {} by {} pixels, colours from {} to {}", title, image.size(0),
                  image.size(1), format_number(bar.low), format_number(bar.high))};
}

CaptionedFigure difference_of(const ComparedImages& compared, const at::Tensor& difference,
                              const std::string& title, const std::string& label) {
  const ValueRange range = robust_range(difference.abs(), everywhere(difference));
  const double most = std::max(range.high, 1e-12);
  const ColourBar bar{ColourMap::grey, -most, most, label};
  const Comparison& numbers = compared.comparison;
  return {{title, {panel_of("", difference, bar, numbers.window)}, numbers.object_pixel_m, bar},
          "After the alignment; middle grey is no difference. 99 % of the pixels lie within the "
          "colours.",
          fmt::format("{}, {} by {} pixels, colours from {} to {}", title, difference.size(0),
                      difference.size(1), format_number(-most), format_number(most))};
}

}  // namespace

CaptionedFigure amplitude_pair(const ComparedImages& compared, const ComparedNames& names) {
  const at::Tensor image = compared.image.abs(), reference = compared.reference.abs();
  const ValueRange range = common_range({image, reference});
  return pair_of(compared, names, image, reference,
                 {ColourMap::sequential, range.low, range.high, "amplitude"}, "Amplitude",
                 "After the alignment, in one range of colours: the 1st to the 99th percentile.");
}

namespace {

/// Without the reference's mean and ramp; no wrap can come between two whose difference is small.
std::array<at::Tensor, 2> shown_phases_of(const ComparedImages& compared) {
  const at::Tensor reference =
      display_phase(compared.reference, everywhere(compared.reference)).phase_rad;
  return {reference + phase_difference(compared.reference, compared.image), reference};
}

}  // namespace

ValueRange phase_range_of(const ComparedImages& compared) {
  const auto [image, reference] = shown_phases_of(compared);
  return common_range({reference, image});
}

CaptionedFigure phase_pair(const ComparedImages& compared, const ComparedNames& names,
                           const std::optional<ValueRange>& range_rad) {
  const auto [image, reference] = shown_phases_of(compared);
  const ColourBar bar = phase_colours(range_rad.value_or(common_range({reference, image})));
  return pair_of(compared, names, image, reference, bar, "Phase",
                 fmt::format("After the alignment, in one range of colours. For display only, the "
                             "mean phase and the linear ramp of {} are taken from both.",
                             names.reference));
}

CaptionedFigure amplitude_difference(const ComparedImages& compared) {
  return difference_of(compared, compared.image.abs() - compared.reference.abs(),
                       "Difference of amplitude", "amplitude");
}

CaptionedFigure verdict_figure(const Reconstruction& image, const Verdict& verdict) {
  const ValueRange range = robust_range(verdict.map, everywhere(verdict.map));
  const ColourBar bar{ColourMap::sequential, 0, std::max(range.high, 1e-12),
                      "difference over contrast"};
  const std::string title = "Difference of images from two starts";
  return {
      {title, {panel_of("", verdict.map, bar, verdict.window)}, image.geometry.object_pixel_m, bar},
      fmt::format("Where a second image of {} of the patterns, from another start, differs from "
                  "this one after their alignment: bright places are not decided by the "
                  "patterns. What both get wrong in the same way does not show here.",
                  verdict.patterns),
      fmt::format("{}, {} by {} pixels, colours from 0 to {}", title, verdict.map.size(0),
                  verdict.map.size(1), format_number(bar.high))};
}

CaptionedFigure trust_figure(const Reconstruction& image, const Trust& trust) {
  const at::Tensor known = at::isfinite(trust.map);
  const ValueRange range = robust_range(trust.map, known);
  const ColourBar bar{ColourMap::sequential, 0, std::max(range.high, 1e-12),
                      "expected error over contrast"};
  const std::string title = "Expected error";
  const Window whole{0, trust.map.size(0), 0, trust.map.size(1)};
  return {
      {title, {panel_of("", trust.map, bar, whole)}, image.geometry.object_pixel_m, bar},
      "The error that each pixel is expected to have, over the contrast, as the network's images "
      "of "
      "simulated scans have it that look alike: bright places are not to be relied on. Empty where "
      "fewer than two patterns see the sample.",
      fmt::format("{}, {} by {} pixels, colours from 0 to {}", title, trust.map.size(0),
                  trust.map.size(1), format_number(bar.high))};
}

CaptionedFigure phase_difference_figure(const ComparedImages& compared) {
  return difference_of(compared, phase_difference(compared.reference, compared.image),
                       "Difference of phase", "phase (rad)");
}

// A Fourier ring correlation.

namespace {

constexpr double kEm = 24, kWidth = 1400, kHeight = 960;
constexpr Rectangle kArea{4.6 * kEm, 3 * kEm, kWidth - 6 * kEm, kHeight - 12.2 * kEm};
constexpr TextStyle kPlain{.size = kEm};

/// One line of the figure and of its legend.
struct Line {
  std::string label;
  std::vector<double> values;
  Pen pen;
};

// Colours that people tell apart whatever their sight: M. Okabe & K. Ito, "Color universal design",
// 2008.
constexpr Colour kBlue{0, 0.447, 0.698}, kVermilion{0.835, 0.369, 0}, kGreen{0, 0.62, 0.451},
    kPurple{0.8, 0.475, 0.655}, kGrey{0.35, 0.35, 0.35};

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
  return {{"the correlation; it falls below", rings.correlation, {4, kBlue, {}}},
          {label("half-bit", at.half_bit), rings.half_bit, {2.5, kVermilion, {14, 8}}},
          {label("1-bit", at.one_bit), rings.one_bit, {2.5, kGreen, {18, 6, 4, 6}}},
          {label("0.5", at.half), level(0.5), {2.5, kGrey, {4, 6}}},
          {label("1/7", at.one_seventh), level(1.0 / 7), {2.5, kPurple, {9, 6}}}};
}

/// Data to sheet pixels.
struct Scales {
  double last, low;
  Point place(double cycles_per_px, double value) const {
    const double clipped = std::clamp(value, low, 1.0);
    return {kArea.x + cycles_per_px / last * kArea.width,
            kArea.y + (1 - clipped) / (1 - low) * kArea.height};
  }
};

Scales scales_of(const RingCorrelation& rings) {
  const auto counted = rings.correlation.begin() + 1;  // ring 0 is one pixel, and mean free
  const double least = *std::min_element(counted, rings.correlation.end());
  return {rings.cycles_per_px.back(), std::min(0.0, std::max(-1.0, least - 0.05))};
}

void draw_axes(Canvas& canvas, const Scales& scales) {
  const double bottom = kArea.y + kArea.height;
  for (const Tick& tick : linear_ticks(0, scales.last, 6)) {
    const double x = scales.place(tick.value, 0).x;
    canvas.line(x, bottom, x, bottom + 8, 1.5);
    canvas.text(tick.label, x, bottom + 1.1 * kEm, {.size = kEm, .anchor = Anchor::centre});
  }
  for (const Tick& tick : linear_ticks(scales.low, 1, 6)) {
    const double y = scales.place(0, tick.value).y;
    canvas.line(kArea.x - 8, y, kArea.x, y, 1.5);
    canvas.text(tick.label, kArea.x - 0.7 * kEm, y, {.size = kEm, .anchor = Anchor::right});
  }
  canvas.text("cycles per object pixel", kArea.x + kArea.width / 2, bottom + 2.7 * kEm,
              {.size = kEm, .anchor = Anchor::centre});
  canvas.text("correlation", 1.1 * kEm, kArea.y + kArea.height / 2,
              {.size = kEm, .anchor = Anchor::centre, .upwards = true});
  canvas.frame(kArea, 1.5);
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
  const double top = kArea.y + kArea.height + 4.6 * kEm;
  for (std::size_t index = 0; index < lines.size(); ++index) {
    const double x = kArea.x + static_cast<double>(index % 2) * 0.5 * kArea.width;
    const double y = top + static_cast<double>(index / 2) * 1.6 * kEm;
    canvas.path({{x, y}, {x + 2.6 * kEm, y}}, lines[index].pen);
    canvas.text(lines[index].label, x + 3.1 * kEm, y, kPlain);
  }
}

}  // namespace

std::string ring_figure_png(const Comparison& comparison, const std::string& title) {
  const RingCorrelation& rings = comparison.rings;
  require(rings.cycles_per_px.size() >= 2, "expected the rings of a correlation, found {}",
          rings.cycles_per_px.size());
  const Scales scales = scales_of(rings);
  const std::vector<Line> lines = lines_of(comparison);
  Canvas canvas(kWidth, kHeight);
  canvas.text(title, kArea.x, 1.4 * kEm, {.size = 1.25 * kEm, .bold = true});
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
