#include "ptyche/prepare/examine.h"

#include "ptyche/prepare/judge.h"

namespace ptyche {
namespace {

constexpr std::int64_t kSmallestPattern = 32;
// Spread of totals about their neighbours: <= .117 (overlap 50 %) | .135 .. .19 (15 %), .15 .. .19
// (uniform 30 %), > .43 (50 %).
constexpr double kBeam = 0.15;
constexpr double kPartnersKnown = 0.3;

/// A beam that fluctuates and an order that is wrong look alike in the totals; shadows tell.
void judge_beam(Diagnosis& diagnosis) {
  const double spread = diagnosis.numbers["beam"];
  if (spread <= kBeam || diagnosis.has("order: p") || diagnosis.has("order: a")) return;
  const bool in_order =
      diagnosis.numbers["shadow_seen"] > 0 || diagnosis.numbers["partner_space"] < kPartnersKnown;
  const std::string how = fmt::format(
      "the patterns' totals spread by {:.0f} % about those of their neighbours: the beam "
      "fluctuates",
      100 * spread);
  diagnosis.say(Level::warn, in_order ? "beam: fluctuates" : "beam: fluctuates, or wrong order",
                in_order ? how : how + ", or patterns are not in their places");
}

// Share of counted pixels whose opposite is hidden above which the middle cannot be told by
// symmetry: two gaps of two lines each <= .1 | half the detector 1.0.
constexpr double kOneSided = 0.15;

/// Of the counted pixels, the share whose opposite about (N/2, N/2) is hidden.
double one_sided(const at::Tensor& mask) {
  const at::Tensor opposite = at::roll(mask.flip({0, 1}), {1, 1}, {0, 1});
  return mask.logical_and(opposite.logical_not()).sum().item<double>() / mask.sum().item<double>();
}

/// What needs a diffraction pattern.
void judge_diffraction(Diagnosis& diagnosis, const Scan& scan, const Patterns& patterns,
                       const ExamineOptions& options) {
  const bool given = scan.probe_given();
  judge_detector(diagnosis, scan, patterns, options);
  if (diagnosis.is_final()) return;
  const bool uneven = diagnosis.has("detector: dead") || diagnosis.has("detector: gain") ||
                      diagnosis.has("mask: ") || one_sided(patterns.mask) > kOneSided;
  if (!uneven) judge_drift(diagnosis, patterns);
  judge_frames(diagnosis, scan, patterns, diagnosis.has("centre: drifts"));
  if (diagnosis.is_final()) return;
  judge_limits(diagnosis, patterns);
  const bool no_middle = diagnosis.has("patterns: near field");
  if (!uneven && !no_middle) judge_centre(diagnosis, patterns, scan.probe(), given, options);
  if (diagnosis.is_final()) return;
  judge_neighbours(diagnosis, scan, patterns, options);
  judge_beam(diagnosis);
}

}  // namespace

Diagnosis examine(const Scan& scan, const ExamineOptions& options) {
  Diagnosis diagnosis;
  if (scan.probe_given() && !scan.geometry().near_field)
    judge_probe_place(diagnosis, scan.probe(), options);
  if (diagnosis.is_final()) return diagnosis;
  const Patterns patterns = patterns_of(scan);
  if (scan.pattern_size() >= kSmallestPattern) judge_near_field(diagnosis, scan, patterns, options);
  if (!diagnosis.is_final()) judge_places(diagnosis, scan, scan.probe_given(), options);
  if (!diagnosis.is_final()) judge_repeats(diagnosis, scan);
  if (diagnosis.is_final()) return diagnosis;
  judge_mask(diagnosis, scan, patterns, options);
  if (!diagnosis.is_final()) judge_transform(diagnosis, patterns, options);
  if (diagnosis.is_final()) return diagnosis;
  if (scan.geometry().near_field || scan.pattern_size() < kSmallestPattern) {
    judge_limits(diagnosis, patterns);
    if (scan.geometry().near_field && !diagnosis.is_final())
      judge_near_positions(diagnosis, scan, patterns, options);
    return diagnosis;
  }
  judge_diffraction(diagnosis, scan, patterns, options);
  if (!scan.probe_given() && !diagnosis.has(Level::refuse))
    diagnosis.say(
        Level::note, "probe: none given",
        "without a probe both axes flipped and the sign of the defocus are one and the same");
  return diagnosis;
}

}  // namespace ptyche
