// Do the patterns fit their positions: orientation, sign and scale by the shadows, order and
// strangers by the likeness of neighbours.
#include <algorithm>
#include <cmath>

#include "ptyche/data/array.h"
#include "ptyche/prepare/judge.h"
#include "ptyche/prepare/likeness.h"

namespace ptyche {
namespace {

// Strength of the best of four orientations, standard errors; second over first; mean correlation;
// gain in detector pixels per position pixel: curved probes 1.0 .. 3 | in focus, where the
// orientation says nothing, <= .54.
constexpr double kSeen = 15, kSecond = 0.7, kSeenMean = 0.012, kSeenGain = 0.7;
// Strength of the given probe's own shadow: curved 73 .. 210 | in focus 7 .. 23. Where it is
// strong, only gains about its own are tried, and less is enough: right ones 7.9 .. 90, seconds <=
// .33 | wrong ones <= 4.
constexpr double kOwnSeen = 45, kOwnSecond = 0.5, kAboutOwn = 2.7, kSeenAbout = 7.5,
                 kSecondAbout = 0.6;
// Gain over the probe's own: .67 .. 1.17 on good scans | .32 .. .57 (positions x 2), 1.27 .. 2.4 (x
// .5).
constexpr double kGainLow = 0.6, kGainHigh = 1.5;
// Standard errors by which a shifted order must be better: <= 1 | 15 .. 26 (where it can be seen).
constexpr double kLagErrors = 5, kLagTimes = 1.4;
// Share of patterns that do not resemble their neighbours: <= .13 | .20 .. .34 (30 % shuffled).
constexpr double kStrangers = 0.19;
// Rank of the distance of the most similar patterns, .5 = chance.
// They stand out by <= 4.9 spreads on good scans where they are far.
constexpr double kPartnerFar = 0.42, kPartnerStandsOut = 6, kPartnerTime = 0.25,
                 kPartnerUnsure = 0.3;
// Where the probe's own shadow is strong and the patterns differ by more than photon noise (share
// of their differences), the shadow is seen: strength >= 14 on all such good scans.
constexpr double kSignal = 0.5;
constexpr std::int64_t kLagPairs = 300, kPartnerPatterns = 100, kFewestPatterns = 12;

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
  if (best.orientation == Orientation::as_given) {
    if (is_signed && reversed) say_twin(diagnosis, best.strength);
    return;
  }
  const char* what = !is_signed ? turn.unsigned_one : reversed ? turn.reversed : turn.as_probe;
  const std::string cause = fmt::format("positions: {}", what);
  const std::string text = fmt::format(
      "neighbouring patterns move as if the positions had their {} ({:.0f} standard errors; the "
      "next "
      "orientation {:.0f})",
      what, best.strength, evidence.found[1].strength);
  if (probe_given && !is_signed)
    return diagnosis.say(Level::warn, cause,
                         text +
                             "; left as it is, for the probe's own shadow is weak: --swap-xy "
                             "--flip-x --flip-y turn them");
  diagnosis.mend(
      cause, text + "; they are turned back (--swap-xy, --flip-x or --flip-y say otherwise)",
      turn_positions(best.orientation, reversed), options, {"flip-x", "flip-y", "swap-xy"});
}

void judge_scale(Diagnosis& diagnosis, const Evidence& evidence) {
  const double ratio = std::abs(evidence.ratio);
  if (ratio == 0 || (ratio > kGainLow && ratio < kGainHigh)) return;
  diagnosis.say(
      Level::warn, "positions: scale, or the defocus",
      fmt::format("neighbouring patterns move {:.2g} times as far as the file's probe would "
                  "move them: the positions are in pixels of another size (energy, distance, "
                  "detector pixel), or the probe's defocus is another; left as it is",
                  ratio));
}

/// Photon noise in the patterns' differences from their mean, of unit power: (k) float64.
at::Tensor noise_of(const Patterns& patterns) {
  const at::Tensor mean =
      binned(patterns.counts, patterns.mask).counts.mean({0}, false, at::kDouble);
  return mean.clamp_max(0.25).sum() / patterns.totals.clamp_min(1);
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

void judge_shadows(Diagnosis& diagnosis, const Evidence& evidence, bool probe_given,
                   const ExamineOptions& options) {
  if (!evidence.seen) return;
  const double gain = std::abs(evidence.found[0].gain);
  if (probe_given && !evidence.own_strong && evidence.own[0].strength < evidence.found[0].strength)
    diagnosis.say(
        Level::warn, "probe: not curved",
        fmt::format("neighbouring patterns move like shadows ({:.2g} pattern pixels per "
                    "position pixel), which the file's probe, in focus, does not cast: it is "
                    "not this scan's",
                    gain));
  judge_orientation(diagnosis, evidence, probe_given, options);
  judge_scale(diagnosis, evidence);
}

// Order.

/// For every pattern the one that was taken `lag` frames later; -1 = it is not looked at.
std::vector<std::int64_t> lagged(const at::Tensor& frames, std::int64_t lag) {
  const std::int64_t* number = frames.const_data_ptr<std::int64_t>();
  std::vector<std::int64_t> partner;
  for (std::int64_t k = 0; k < frames.size(0); ++k) {
    const std::int64_t other = k + lag;
    const bool there = other >= 0 && other < frames.size(0) && number[other] == number[k] + lag;
    partner.push_back(there ? other : -1);
  }
  return partner;
}

struct Likely {
  double mean = 0, error = 0;
};

/// Mean likeness of neighbours among patterns first..last-1 when the pattern `lag` frames later is
/// given each position and shadows move by `turn`.
Likely likeness_of_neighbours(const Likeness& likeness, const Patterns& patterns,
                              const Matrix& turn, std::int64_t first, std::int64_t last,
                              std::int64_t lag) {
  const std::vector<std::int64_t> partner = lagged(patterns.frames, lag);
  std::vector<std::int64_t> kept;
  for (std::int64_t k = first; k < last; ++k)
    if (partner[static_cast<std::size_t>(k)] >= first &&
        partner[static_cast<std::size_t>(k)] < last)
      kept.push_back(k);
  if (kept.size() < 6) return {0, 1};
  const at::Tensor places =
      patterns.positions.index_select(0, at::tensor(kept, at::kLong)).contiguous();
  const double* place = places.const_data_ptr<double>();
  Pairs pairs;
  std::vector<double> shifts;
  for (const auto& [a, b] : neighbours(places, kLagPairs, 6)) {
    const double row = place[2 * b] - place[2 * a], col = place[2 * b + 1] - place[2 * a + 1];
    pairs.emplace_back(partner[static_cast<std::size_t>(kept[static_cast<std::size_t>(a)])],
                       partner[static_cast<std::size_t>(kept[static_cast<std::size_t>(b)])]);
    shifts.push_back(turn.row_row * row + turn.row_col * col);
    shifts.push_back(turn.col_row * row + turn.col_col * col);
  }
  if (pairs.size() < 6) return {0, 1};
  const at::Tensor values =
      at::tensor(values_at(correlations(likeness, pairs), shifts), at::kDouble);
  return {values.mean().item<double>(),
          values.std(false).item<double>() / std::sqrt(static_cast<double>(pairs.size()))};
}

/// By how many standard errors the better of two shifted orders is better than the one given.
struct Better {
  double errors = 0;
  std::int64_t by = 0;
};

Better better_order(const Likeness& likeness, const Patterns& patterns, const Matrix& turn,
                    std::int64_t first, std::int64_t last) {
  const Likely given = likeness_of_neighbours(likeness, patterns, turn, first, last, 0);
  Better best{-INFINITY, 0};
  for (const std::int64_t lag : {-1, 1}) {
    const Likely other = likeness_of_neighbours(likeness, patterns, turn, first, last, lag);
    const double errors = (other.mean - given.mean) / (std::hypot(given.error, other.error) + 1e-9);
    if (errors > best.errors) best = {errors, lag};
  }
  return best;
}

void mend_order(Diagnosis& diagnosis, std::int64_t by, double errors,
                const ExamineOptions& options) {
  diagnosis.mend(
      "order: patterns shifted against positions",
      fmt::format("neighbours resemble each other by {:.0f} standard errors more when the "
                  "pattern {} takes each position: patterns and positions are shifted by "
                  "one, and are shifted back",
                  errors, by > 0 ? "after" : "before"),
      ShiftOrder{by}, options, {});
}

/// Where shadows are not seen in the order given, they may be in another.
bool find_lagged_shadow(Diagnosis& diagnosis, const Likeness& likeness, const Patterns& patterns,
                        double given, const ExamineOptions& options) {
  Shadow best;
  std::int64_t by = 0;
  for (const std::int64_t lag : {-1, 1}) {
    const Shadow found = shadows(likeness, patterns.positions, lagged(patterns.frames, lag))[0];
    if (found.strength <= best.strength) continue;
    best = found;
    by = lag;
  }
  diagnosis.numbers["lagged_shadow"] = best.strength;
  if (best.strength <= kSeen || best.mean <= kSeenMean || best.strength <= kLagTimes * given)
    return false;
  mend_order(diagnosis, by, best.strength - given, options);
  return true;
}

Matrix turn_by(const Shadow& shadow) {
  const Matrix m = matrix_of(shadow.orientation);
  return {shadow.gain * m.row_row, shadow.gain * m.row_col, shadow.gain * m.col_row,
          shadow.gain * m.col_col};
}

/// Whether a shift of the whole scan, or of a part, was found.
bool find_shift(Diagnosis& diagnosis, const Likeness& likeness, const Patterns& patterns,
                const Matrix& turn, const ExamineOptions& options) {
  const std::int64_t size = patterns.size(), half = size / 2;
  const Better whole = better_order(likeness, patterns, turn, 0, size);
  const Better early = better_order(likeness, patterns, turn, 0, half);
  const Better late = better_order(likeness, patterns, turn, half, size);
  diagnosis.numbers["lag_whole"] = whole.errors;
  diagnosis.numbers["lag_early"] = early.errors;
  diagnosis.numbers["lag_late"] = late.errors;
  if (whole.errors > kLagErrors && early.errors > 0 && late.errors > 0) {
    mend_order(diagnosis, whole.by, whole.errors, options);
    return true;
  }
  if (std::max(early.errors, late.errors) <= kLagErrors) return false;
  diagnosis.say(
      Level::warn, "order: patterns shifted in a part of the scan",
      fmt::format("in the {} half neighbours resemble each other by {:.0f} standard errors "
                  "more when patterns are shifted by one: a frame was lost or doubled",
                  early.errors > late.errors ? "first" : "second",
                  std::max(early.errors, late.errors)));
  return true;
}

double median_of(const at::Tensor& values) { return values.median().item<double>(); }

/// Of every pattern, how alike it is to its nearest four where their shadows move by `turn`: the
/// median, (k) float64.
at::Tensor likeness_to_nearest(const Likeness& likeness, const Patterns& patterns,
                               const Matrix& turn) {
  const auto lists = nearest(patterns.positions, 4);
  const double* place = patterns.positions.const_data_ptr<double>();
  Pairs pairs;
  std::vector<double> shifts;
  for (std::int64_t a = 0; a < patterns.size(); ++a)
    for (const std::int64_t b : lists[static_cast<std::size_t>(a)]) {
      const double row = place[2 * b] - place[2 * a], col = place[2 * b + 1] - place[2 * a + 1];
      pairs.emplace_back(a, b);
      shifts.push_back(turn.row_row * row + turn.row_col * col);
      shifts.push_back(turn.col_row * row + turn.col_col * col);
    }
  std::vector<double> values;
  constexpr std::size_t kAtOnce = 512;
  for (std::size_t first = 0; first < pairs.size(); first += kAtOnce) {
    const std::size_t end = std::min(first + kAtOnce, pairs.size());
    const auto at = [](auto& list, std::size_t place) {
      return list.begin() + static_cast<std::ptrdiff_t>(place);
    };
    const std::vector<double> part =
        values_at(correlations(likeness, Pairs(at(pairs, first), at(pairs, end))),
                  std::vector<double>(at(shifts, 2 * first), at(shifts, 2 * end)));
    values.insert(values.end(), part.begin(), part.end());
  }
  const auto each = static_cast<std::int64_t>(lists[0].size());
  return at::quantile(at::tensor(values, at::kDouble).view({-1, each}), 0.5, 1);
}

void find_strangers(Diagnosis& diagnosis, const Likeness& likeness, const Patterns& patterns,
                    const Matrix& turn) {
  const at::Tensor alike = likeness_to_nearest(likeness, patterns, turn);
  const at::Tensor mean =
      binned(patterns.counts, patterns.mask).counts.mean({0}, false, at::kDouble);
  const at::Tensor power = likeness.norms.to(at::kDouble).square(), noise = noise_of(patterns);
  const at::Tensor signal = power - noise;
  // A pattern of a flat patch of the sample resembles nothing.
  const at::Tensor speaks = signal.gt(0.5 * median_of(signal)).logical_and(signal.gt(0.3 * noise));
  if (speaks.to(at::kDouble).mean().item<double>() <= 0.5) return;
  const double lit = (mean.sum().square() / mean.square().sum().clamp_min(1e-9)).item<double>();
  const double chance = std::sqrt(std::min(median_of(noise / power), 1.0) / lit);
  const at::Tensor speaking = alike.masked_select(speaks);
  const double usual = median_of(speaking);
  if (usual <= 3 * chance) return;
  const double share = speaking.lt(0.3 * usual).to(at::kDouble).mean().item<double>();
  diagnosis.numbers["strangers"] = share;
  if (share <= kStrangers) return;
  diagnosis.say(
      Level::warn, "order: a part of the patterns does not belong to its positions",
      fmt::format("{:.0f} % of the patterns do not resemble those beside them: they are not "
                  "in their places",
                  100 * share));
}

/// Where each pattern's three most similar ones lie: mean rank of their distance in space and in
/// time (0 nearest, .5 by chance), and how far they stand out.
struct Partners {
  double space = 0, time = 0, stand_out = 0;
};

/// Largest correlation of any two patterns, (k, k) float64, -9 on the diagonal; of slow waves only.
at::Tensor largest_likeness(const Likeness& likeness, const at::Tensor& which) {
  const std::int64_t size = which.size(0), kept = std::min<std::int64_t>(likeness.pixels / 2, 32);
  const at::Tensor spectra = likeness.spectra.index_select(0, which);
  const at::Tensor low = at::cat({spectra.narrow(1, 0, kept / 2),
                                  spectra.narrow(1, likeness.pixels - kept / 2, kept / 2)},
                                 1)
                             .narrow(2, 0, kept / 2 + 1)
                             .contiguous();
  const at::Tensor norms = at::real(low * low.conj()).sum({1, 2}).sqrt();
  at::Tensor all = at::full({size, size}, -9.0, at::kDouble);
  for (std::int64_t i = 0; i + 1 < size; ++i) {
    const at::Tensor others = low.narrow(0, i + 1, size - i - 1);
    const at::Tensor best =
        at::fft_irfft2(others * low[i].conj(), at::IntArrayRef{kept, kept}).flatten(1).amax(1);
    const at::Tensor values =
        (best / (norms[i] * norms.narrow(0, i + 1, size - i - 1))).to(at::kDouble);
    all[i].narrow(0, i + 1, size - i - 1).copy_(values);
    all.select(1, i).narrow(0, i + 1, size - i - 1).copy_(values);
  }
  return all;
}

/// Mean share of all others that are nearer than the top ones.
double rank_of(const at::Tensor& distances, const at::Tensor& top) {
  const at::Tensor nearer = distances.unsqueeze(1).lt(distances.gather(1, top).unsqueeze(2));
  return (nearer.sum(2).to(at::kDouble) - 1).mean().item<double>() /
         std::max(1.0, static_cast<double>(distances.size(0) - 2));
}

Partners partners_of(const Likeness& likeness, const Patterns& patterns) {
  const at::Tensor middle = std::get<0>(patterns.positions.median(0));
  const at::Tensor order = (patterns.positions - middle).square().sum(1).argsort(true, 0);
  const at::Tensor which =
      std::get<0>(order.narrow(0, 0, std::min(kPartnerPatterns, patterns.size())).sort());
  const at::Tensor alike = largest_likeness(likeness, which);
  const at::Tensor top = std::get<1>(alike.topk(3, 1));
  const at::Tensor places = patterns.positions.index_select(0, which);
  const at::Tensor apart = (places.unsqueeze(1) - places.unsqueeze(0)).square().sum(2).sqrt();
  const at::Tensor index = at::arange(which.size(0), at::kDouble);
  const at::Tensor usual = at::quantile(alike, 0.5, 1, true);
  const at::Tensor spread = 1.4826 * at::quantile((alike - usual).abs(), 0.5, 1, true) + 1e-9;
  const at::Tensor second = alike.gather(1, top.narrow(1, 1, 1));
  return {rank_of(apart, top), rank_of((index.unsqueeze(1) - index).abs(), top),
          median_of((second - usual) / spread)};
}

/// Whether shadows should be seen and are not.
bool are_missing(Diagnosis& diagnosis, const Evidence& evidence) {
  return evidence.own_strong && !evidence.seen && diagnosis.numbers["signal"] > kSignal &&
         diagnosis.numbers["step_over_probe"] < 0.55;
}

void judge_partners(Diagnosis& diagnosis, const Likeness& likeness, const Patterns& patterns,
                    const Evidence& evidence) {
  const Partners found = partners_of(likeness, patterns);
  diagnosis.numbers["partner_space"] = found.space;
  diagnosis.numbers["partner_time"] = found.time;
  diagnosis.numbers["partner_stands_out"] = found.stand_out;
  const std::string cause = "order: patterns have nothing to do with positions";
  const bool far = found.space > kPartnerFar && evidence.found[0].strength < kSeen;
  if (far && found.time < kPartnerTime)
    return diagnosis.say(
        Level::warn, cause,
        "patterns that resemble each other were taken one after the other, but their "
        "positions lie as far apart as any two: these are another scan's, or in "
        "another order");
  if ((far && found.stand_out > kPartnerStandsOut) || are_missing(diagnosis, evidence))
    return diagnosis.say(
        Level::warn, cause,
        "neighbouring patterns resemble each other no more than any two, although "
        "their light and their probe would show it: the positions are another scan's, "
        "or in another order");
  if (found.space > kPartnerUnsure)
    diagnosis.say(
        Level::note, "order: cannot be seen without a solve",
        "neighbouring patterns resemble each other too little to tell whether they are in "
        "their places");
}

}  // namespace

void judge_neighbours(Diagnosis& diagnosis, const Patterns& patterns, const at::Tensor& probe,
                      bool probe_given, const ExamineOptions& options) {
  if (patterns.size() < kFewestPatterns) return;
  const Likeness likeness = likeness_of(patterns.counts, patterns.mask);
  const Evidence evidence = evidence_of(likeness, patterns, probe, probe_given);
  keep_numbers(diagnosis, evidence);
  const at::Tensor power = likeness.norms.to(at::kDouble).square();
  diagnosis.numbers["signal"] = 1 - median_of(noise_of(patterns) / power);
  judge_shadows(diagnosis, evidence, probe_given, options);
  if (diagnosis.is_final()) return;
  if (!evidence.seen &&
      find_lagged_shadow(diagnosis, likeness, patterns, evidence.found[0].strength, options))
    return;
  const Matrix turn = evidence.seen ? turn_by(evidence.found[0]) : Matrix{0, 0, 0, 0};
  if (find_shift(diagnosis, likeness, patterns, turn, options)) return;
  if (evidence.seen)
    find_strangers(diagnosis, likeness, patterns, turn);
  else
    judge_partners(diagnosis, likeness, patterns, evidence);
}

}  // namespace ptyche
