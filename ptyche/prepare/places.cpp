// Are the positions in object pixels at all.
#include <algorithm>
#include <cmath>

#include "ptyche/data/far_patterns.h"
#include "ptyche/data/probe.h"
#include "ptyche/prepare/judge.h"

namespace ptyche {
namespace {

// Extent and step below which positions are in another unit, object pixels: step 3 .. 12 on good
// scans.
constexpr double kLeastSpan_px = 1, kLeastStep_px = 0.02;

void say_unit(Diagnosis& diagnosis, double step, double span, double diameter,
              const ExamineOptions& options) {
  const std::string cause = "positions: unit";
  const std::string text = fmt::format(
      "the positions span {:.3g} object pixels with steps of {:.3g}, beside a probe of {:.3g}: "
      "they "
      "are in another unit",
      span, step, diameter);
  const int power = only_power_of_ten(step, diameter);
  const bool said = options.given.contains("distance") || options.given.contains("energy") ||
                    options.given.contains("detector-pixel");
  const std::string remedy =
      power != 0 ? fmt::format(
                       "; only a factor of 1e{} fits: is --energy in eV (or 8keV), are "
                       "--distance and --detector-pixel in metres (or 55um), or are the "
                       "positions in another unit ({})?",
                       power, units_to_type(step, diameter))
                 : fmt::format(
                       "; {} says in which, --energy, --distance and --detector-pixel how "
                       "large a pixel is",
                       units_to_type(step, diameter));
  if (power == 0 || said) return diagnosis.say(Level::refuse, cause, text + remedy);
  diagnosis.mend(cause,
                 fmt::format("{}; only a factor of 1e{} fits, and they are multiplied by it "
                             "(--energy, --distance and --detector-pixel say otherwise)",
                             text, power),
                 ScalePositions{std::pow(10.0, power)}, options, {});
}

/// Leaves out the few that lie where no other pattern, or only a few, tell anything.
void say_far(Diagnosis& diagnosis, const Scan& scan) {
  const at::Tensor frames = usable_frames(scan);
  const at::Tensor which = far_patterns(parts_without_overlap(
      scan.positions().index_select(0, frames), static_cast<double>(scan.pattern_size())));
  if (which.numel() == 0) return;
  const at::Tensor far = frames.index_select(0, which);
  const std::int64_t first = far[0].item<std::int64_t>();
  diagnosis.mend(
      "positions: far away",
      fmt::format("{} of {} patterns lie so far from most others that they share no pixel "
                  "of the object with them (pattern {} at row {:.6g}, column {:.6g}): they "
                  "are left out",
                  far.numel(), frames.size(0), first, scan.positions()[first][0].item<double>(),
                  scan.positions()[first][1].item<double>()),
      RejectFrames{far}, {}, {});
}

}  // namespace

void judge_places(Diagnosis& diagnosis, const Scan& scan, bool probe_given,
                  const ExamineOptions& options) {
  say_far(diagnosis, scan);
  if (diagnosis.is_final()) return;
  const at::Tensor positions = scan.positions().index_select(0, usable_frames(scan));
  const double step = median_step_px(positions);
  const double span = (positions.amax(0) - positions.amin(0)).max().item<double>();
  const auto size = static_cast<double>(scan.pattern_size());
  const double diameter = probe_given ? std::min(probe_diameter_px(scan.probe()), size) : size / 2;
  diagnosis.numbers["step_px"] = step;
  diagnosis.numbers["step_over_probe"] = step / diameter;
  if (span < kLeastSpan_px || step < kLeastStep_px || step > size)
    return say_unit(diagnosis, step, span, diameter, options);
  if (probe_given && step > diameter)
    diagnosis.say(
        Level::warn, "positions: no overlap",
        fmt::format("the step to the nearest neighbour is {:.3g} object pixels, the probe "
                    "{:.3g} wide: no pattern overlaps another; are the positions in another "
                    "unit?",
                    step, diameter));
}

}  // namespace ptyche
