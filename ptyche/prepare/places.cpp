// Are the positions in object pixels at all.
#include <algorithm>
#include <cmath>

#include "ptyche/data/probe.h"
#include "ptyche/prepare/judge.h"

namespace ptyche {
namespace {

// Extent and step below which positions are in another unit, object pixels: step 3 .. 12 on good
// scans.
constexpr double kLeastSpan_px = 1, kLeastStep_px = 0.02;
// Step over the probe's diameter (.06 .. .85 on good scans) that a power of ten must bring it to.
constexpr double kStepLow = 0.03, kStepHigh = 0.95;

/// The power of ten that alone brings the step into range; of thousands first, as units go. 0 =
/// none or several.
int only_power(double step, double diameter) {
  for (const int stride : {3, 1}) {
    std::vector<int> fits;
    for (int power = -12; power <= 12; power += stride) {
      const double share = step * std::pow(10.0, power) / diameter;
      if (power != 0 && share > kStepLow && share < kStepHigh) fits.push_back(power);
    }
    if (fits.size() == 1) return fits[0];
    if (!fits.empty()) return 0;
  }
  return 0;
}

void say_unit(Diagnosis& diagnosis, double step, double span, double diameter,
              const ExamineOptions& options) {
  const std::string cause = "positions: unit";
  const std::string text = fmt::format(
      "the positions span {:.3g} object pixels with steps of {:.3g}, beside a probe of {:.3g}: "
      "they "
      "are in another unit",
      span, step, diameter);
  const int power = only_power(step, diameter);
  const bool said = options.given.contains("distance") || options.given.contains("energy") ||
                    options.given.contains("detector-pixel");
  if (power == 0 || said)
    return diagnosis.say(
        Level::refuse, cause,
        text + "; --energy, --distance and --detector-pixel say how large a pixel is");
  diagnosis.mend(cause,
                 fmt::format("{}; only a factor of 1e{} fits, and they are multiplied by it "
                             "(--energy, --distance and --detector-pixel say otherwise)",
                             text, power),
                 ScalePositions{std::pow(10.0, power)}, options, {});
}

}  // namespace

void judge_places(Diagnosis& diagnosis, const Scan& scan, bool probe_given,
                  const ExamineOptions& options) {
  const at::Tensor usable =
      at::nonzero(scan.frame_use().ne(static_cast<int>(FrameUse::rejected))).flatten();
  const at::Tensor positions = scan.positions().index_select(0, usable);
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
