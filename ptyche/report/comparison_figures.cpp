#include "ptyche/report/comparison_figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "ptyche/evaluate/image_error.h"
#include "ptyche/report/display.h"
#include "ptyche/report/ticks.h"

namespace ptyche {
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

CaptionedFigure phase_pair(const ComparedImages& compared, const ComparedNames& names) {
  const DisplayPhase shown = display_phase(compared.reference, everywhere(compared.reference));
  const at::Tensor reference = shown.phase_rad;
  const at::Tensor image = reference + phase_difference(compared.reference, compared.image);
  const ColourBar bar = phase_colours(common_range({reference, image}));
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
