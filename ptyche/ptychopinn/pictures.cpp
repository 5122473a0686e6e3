#include "ptyche/ptychopinn/pictures.h"

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/messages.h"
#include "ptyche/evaluate/compare.h"
#include "ptyche/report/report.h"
#include "ptyche/report/result_figures.h"

namespace ptyche {
namespace {

constexpr const char *kAmplitude = "reconstructed_amplitude.png",
                     *kPhase = "reconstructed_phase.png", *kComparison = "comparison_plot.png";

/// `found` with the ends that the user has given; an end that is not given gives way.
ValueRange chosen_range(ValueRange found, const PictureOptions& options) {
  const double width = found.high - found.low;
  if (options.phase_low_rad) found.low = *options.phase_low_rad;
  if (options.phase_high_rad) found.high = *options.phase_high_rad;
  if (found.low < found.high) return found;
  if (options.phase_low_rad) return {found.low, found.low + width};
  return {found.high - width, found.high};
}

Drawing drawing_with(const Reconstruction& image, const PictureOptions& options) {
  Drawing how = drawing_of(image);
  how.phase_range_rad = chosen_range(*how.phase_range_rad, options);
  return how;
}

/// Amplitudes above phases, the truth at the right.
std::string comparison_png(const ComparedImages& compared, const PictureOptions& options) {
  const ComparedNames names{"reconstruction", "truth"};
  const ValueRange range = chosen_range(phase_range_of(compared), options);
  return render_stacked_png(
      {amplitude_pair(compared, names).figure, phase_pair(compared, names, range).figure});
}

}  // namespace

std::vector<Field> fields(PictureOptions& options) {
  return {{.name = "ptychopinn-pictures",
           .target = &options.image,
           .help = "also reconstructed_amplitude.png and reconstructed_phase.png, for scripts that "
                   "look for PtychoPINN's names",
           .affects_result = false},
          {.name = "phase-vmin",
           .target = &options.phase_low_rad,
           .unit = "rad",
           .help = "phase at the dark end of the colours of these pictures; auto = 1st percentile",
           .affects_result = false},
          {.name = "phase-vmax",
           .target = &options.phase_high_rad,
           .unit = "rad",
           .help = "phase at the bright end; auto = 99th percentile",
           .affects_result = false}};
}

RunFiles picture_files() {
  return {.names = {kAmplitude, kPhase, kComparison}, .last = "", .checkpoint = ""};
}

void require_phase_range(const PictureOptions& options) {
  if (!options.phase_low_rad || !options.phase_high_rad) return;
  require(*options.phase_low_rad < *options.phase_high_rad,
          "--phase-vmin: expected less than --phase-vmax, found {} and {}", *options.phase_low_rad,
          *options.phase_high_rad);
}

void write_ptychopinn_pictures(const std::filesystem::path& folder, const Reconstruction& image,
                               const Scan& scan, const PictureOptions& options) {
  if (options.image)
    warn_on_error("reconstructed_*.png", [&] {
      const Drawing how = drawing_with(image, options);
      write_text(folder / kAmplitude, render_png(amplitude_figure(image, how).figure));
      write_text(folder / kPhase, render_png(phase_figure(image, how).figure));
    });
  if (!options.comparison) return;
  if (!scan.truth().defined())
    return warn("--comparison-plot: {} has no truth that could stand beside the image",
                scan.source());
  warn_on_error(kComparison, [&] {
    if (const auto compared = compared_with_truth(scan.truth(), image))
      write_text(folder / kComparison, comparison_png(*compared, options));
  });
}

}  // namespace ptyche
