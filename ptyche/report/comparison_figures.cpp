#include "ptyche/report/comparison_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ptyche/evaluate/image_error.h"
#include "ptyche/report/display.h"
#include "ptyche/report/ticks.h"

namespace ptyche {
namespace {

at::Tensor everywhere(const at::Tensor& values) { return at::ones_like(values, at::kBool); }

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

/// The range of both sets of values together.
ValueRange common_range(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor both = at::cat({a, b});
  return robust_range(both, everywhere(both));
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
  const ValueRange range = common_range(image, reference);
  return pair_of(compared, names, image, reference,
                 {ColourMap::sequential, range.low, range.high, "amplitude"}, "Amplitude",
                 "After the alignment, in one range of colours: the 1st to the 99th percentile.");
}

CaptionedFigure phase_pair(const ComparedImages& compared, const ComparedNames& names) {
  constexpr double pi = std::numbers::pi, winds_above_rad = 5;
  const DisplayPhase shown = display_phase(compared.reference, everywhere(compared.reference));
  const at::Tensor reference = shown.phase_rad;
  const at::Tensor image = reference + phase_difference(compared.reference, compared.image);
  const ValueRange range = common_range(reference, image);
  const bool winds = range.high - range.low > winds_above_rad;
  const ColourBar bar = winds ? ColourBar{ColourMap::cyclic, -pi, pi, "phase (rad)"}
                              : ColourBar{ColourMap::grey, range.low, range.high, "phase (rad)"};
  return pair_of(compared, names, image, reference, bar, "Phase",
                 fmt::format("After the alignment, in one range of colours. For display only, the "
                             "mean phase and the linear ramp of {} are taken from both.",
                             names.reference));
}

CaptionedFigure amplitude_difference(const ComparedImages& compared) {
  return difference_of(compared, compared.image.abs() - compared.reference.abs(),
                       "Difference of amplitude", "amplitude");
}

CaptionedFigure phase_difference_figure(const ComparedImages& compared) {
  return difference_of(compared, phase_difference(compared.reference, compared.image),
                       "Difference of phase", "phase (rad)");
}

}  // namespace ptyche
