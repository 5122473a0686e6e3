// Orientation, sign and scale of the positions by the shadows in neighbouring patterns.
#include <algorithm>
#include <cmath>

#include "ptyche/data/array.h"
#include "ptyche/prepare/judge.h"
#include "ptyche/prepare/likeness.h"
#include "ptyche/prepare/position_search.h"

namespace ptyche {
namespace {

// Strength of the best of four orientations, standard errors; second over first; mean correlation;
// gain in detector pixels per position pixel: curved probes 1.0 .. 3 | in focus, where the
// orientation says nothing, <= .54.
constexpr double kSeen = 15, kSecond = 0.7, kSeenMean = 0.012, kSeenGain = 0.7;
// That the file's probe is in focus and the light is not: 28 .. 142, few 21 | crystals under a lens
// in focus, whose discs lean towards the next atom, 18 .. 21.
constexpr double kSeenByLens = 25;
// Strength of the given probe's own shadow: curved 73 .. 210 | in focus 7 .. 23. Where it is
// strong, only gains about its own are tried, and less is enough: right ones 7.9 .. 90, seconds <=
// .33 | wrong ones <= 4.
constexpr double kOwnSeen = 45, kOwnSecond = 0.5, kAboutOwn = 2.7, kSeenAbout = 7.5,
                 kSecondAbout = 0.6;
// Gain over the probe's own: .67 .. 1.17 on good scans | .42 .. .57 (positions x 2), 1.27 .. 2.4 (x
// .5). Gratings in the sample (a Siemens star, bars) are as like after a period: at large steps
// they gave .35 .. .44 and any orientation, so that outside of these ranges nothing is believed,
// and a scale only at the strength kSeen and steps below kScaleStep of the probe.
constexpr double kGainLow = 0.6, kGainHigh = 1.5, kGainLeast = 0.41, kGainMost = 2.5,
                 kScaleStep = 0.62;
constexpr std::int64_t kFewestPatterns = 12;

bool is_seen(const std::vector<Shadow>& found, double bins) {
  return found[0].strength > kSeen && found[1].strength < kSecond * found[0].strength &&
         found[0].mean > kSeenMean && std::abs(found[0].gain) * bins > kSeenGain;
}

bool is_seen_about(const std::vector<Shadow>& found) {
  return found[0].strength > kSeenAbout && found[1].strength < kSecondAbout * found[0].strength;
}

/// What the shadows say; `own` of the probe.
struct Evidence {
  std::vector<Shadow> found, own;
  bool seen = false, own_strong = false;
  double ratio = 0;  ///< gain over the probe's own, with its sign; 0 = not known
};

struct Turn {
  const char *as_probe, *reversed, *unsigned_one;
};

/// What the positions have suffered, by the sign of the gain against the probe's own.
Turn turn_of(Orientation orientation) {
  switch (orientation) {
    case Orientation::as_given:
      return {"", "both axes flipped", ""};
    case Orientation::one_flipped:
      return {"rows flipped", "columns flipped", "one axis flipped"};
    case Orientation::swapped:
      return {"axes swapped", "axes swapped and both flipped", "axes swapped"};
    case Orientation::turned:
      return {"turned by 90 degrees", "turned by -90 degrees", "turned by 90 degrees"};
  }
  return {};
}

TurnPositions turn_positions(Orientation orientation, bool reversed) {
  const Matrix m = matrix_of(orientation);
  const double sign = reversed ? -1 : 1;
  return {{{sign * m.row_row, sign * m.row_col}, {sign * m.col_row, sign * m.col_col}}};
}

void say_twin(Diagnosis& diagnosis, double strength) {
  diagnosis.say(
      Level::warn, "positions: both axes flipped, or the sign of the defocus",
      fmt::format("neighbouring patterns move against what the file's probe says ({:.0f} "
                  "standard errors): both axes of the positions are flipped, or the patterns "
                  "turned by 180 degrees, or the probe's defocus has the wrong sign; left as "
                  "it is (--flip-x --flip-y)",
                  strength));
}

void judge_orientation(Diagnosis& diagnosis, const Evidence& evidence, bool probe_given,
                       const ExamineOptions& options) {
  const Shadow& best = evidence.found[0];
  const bool is_signed = evidence.ratio != 0, reversed = evidence.ratio < 0;
  const Turn turn = turn_of(best.orientation);
  const double ratio = std::abs(evidence.ratio);
  if (is_signed && (ratio < kGainLow || ratio > kGainHigh)) return;
  if (best.orientation == Orientation::as_given) {
    if (is_signed && reversed) say_twin(diagnosis, best.strength);
    return;
  }
  const char* what = !is_signed ? turn.unsigned_one : reversed ? turn.reversed : turn.as_probe;
  const std::string cause = fmt::format("positions: {}", what);
  const std::string text = fmt::format(
      "neighbouring patterns say of the positions: {} ({:.0f} standard errors; the next "
      "orientation "
      "{:.0f})",
      what, best.strength, evidence.found[1].strength);
  if (probe_given && !is_signed)
    return diagnosis.say(Level::warn, cause,
                         text +
                             "; left as it is, for the probe's own shadow is weak: --swap-xy "
                             "--flip-x --flip-y turn them");
  diagnosis.mend(cause,
                 text + "; they are turned back (--swap-xy, --flip-x or --flip-y say otherwise)",
                 turn_positions(best.orientation, reversed), options, axis_options());
}

void judge_scale(Diagnosis& diagnosis, const Evidence& evidence, const Scan& scan) {
  const double ratio = std::abs(evidence.ratio);
  if (ratio == 0 || (ratio > kGainLow && ratio < kGainHigh)) return;
  if (evidence.found[0].strength < kSeen || ratio < kGainLeast || ratio > kGainMost ||
      diagnosis.numbers["step_over_probe"] > kScaleStep || !bears_out_scale(scan, ratio))
    return;
  diagnosis.say(
      Level::warn, "positions: scale, or the defocus",
      fmt::format("neighbouring patterns move {:.2g} times as far as the file's probe would "
                  "move them: the positions are in pixels of another size (energy, distance, "
                  "detector pixel), or the probe's defocus is another; left as it is",
                  ratio));
}

/// What the patterns themselves show, where need be with the gains about the probe's own.
void look_for_shadows(Evidence& evidence, const Likeness& likeness, const Patterns& patterns) {
  evidence.found = shadows(likeness, patterns.positions);
  evidence.seen = is_seen(evidence.found, likeness.detector_pixels);
  if (!evidence.own_strong || evidence.seen) return;
  const double gain = std::abs(evidence.own[0].gain);
  const std::vector<Shadow> about =
      shadows(likeness, patterns.positions, {}, {gain / kAboutOwn, gain * kAboutOwn});
  if (!is_seen_about(about)) return;
  evidence.seen = true;
  evidence.found = about;
}

void keep_numbers(Diagnosis& diagnosis, const Evidence& evidence) {
  const std::vector<Shadow>& found = evidence.found;
  diagnosis.numbers["shadow"] = found[0].strength;
  diagnosis.numbers["shadow_second"] = found[1].strength / std::max(found[0].strength, 1e-9);
  diagnosis.numbers["shadow_mean"] = found[0].mean;
  diagnosis.numbers["shadow_gain"] = found[0].gain;
  diagnosis.numbers["shadow_orientation"] = static_cast<double>(found[0].orientation);
  diagnosis.numbers["shadow_seen"] = evidence.seen;
  diagnosis.numbers["own_shadow"] = evidence.own[0].strength;
  diagnosis.numbers["own_gain"] = evidence.own[0].gain;
  diagnosis.numbers["gain_ratio"] = evidence.ratio;
}

Evidence evidence_of(const Likeness& likeness, const Patterns& patterns, const at::Tensor& probe,
                     bool probe_given) {
  Evidence evidence{.found = {}, .own = std::vector<Shadow>(4)};
  if (probe_given) evidence.own = shadows_of_probe(probe);
  const Shadow& own = evidence.own[0];
  evidence.own_strong =
      own.strength > kOwnSeen && evidence.own[1].strength < kOwnSecond * own.strength;
  look_for_shadows(evidence, likeness, patterns);
  if (evidence.seen && evidence.own_strong) evidence.ratio = evidence.found[0].gain / own.gain;
  return evidence;
}

void judge_shadows(Diagnosis& diagnosis, const Evidence& evidence, const Scan& scan,
                   const ExamineOptions& options) {
  const bool probe_given = scan.probe_given();
  if (!evidence.seen) return;
  const double gain = std::abs(evidence.found[0].gain);
  const bool in_focus =
      !evidence.own_strong && evidence.own[0].strength < evidence.found[0].strength;
  if (probe_given && in_focus && evidence.found[0].strength > kSeenByLens)
    diagnosis.say(
        Level::warn, "probe: not curved",
        fmt::format("neighbouring patterns move like shadows ({:.2g} pattern pixels per "
                    "position pixel), which the file's probe, in focus, does not cast: it is "
                    "not this scan's",
                    gain));
  judge_orientation(diagnosis, evidence, probe_given, options);
  judge_scale(diagnosis, evidence, scan);
}

}  // namespace

NamedTurn turn_back(Orientation orientation, bool reversed) {
  const Turn turn = turn_of(orientation);
  return {reversed ? turn.reversed : turn.as_probe, turn_positions(orientation, reversed)};
}

void judge_neighbours(Diagnosis& diagnosis, const Scan& scan, const Patterns& patterns,
                      const ExamineOptions& options) {
  if (patterns.size() < kFewestPatterns) return;
  const Likeness likeness = likeness_of(patterns.counts, patterns.mask);
  const Evidence evidence = evidence_of(likeness, patterns, scan.probe(), scan.probe_given());
  keep_numbers(diagnosis, evidence);
  judge_shadows(diagnosis, evidence, scan, options);
  if (diagnosis.is_final()) return;
  judge_order(diagnosis, likeness, patterns,
              {evidence.found[0], evidence.seen, evidence.own_strong}, options);
}

}  // namespace ptyche
