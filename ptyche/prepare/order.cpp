// Are the patterns in the order of the positions: by how alike neighbours are, where their shadows
// are followed.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ptyche/prepare/judge.h"

namespace ptyche {
namespace {

// Standard errors by which a shifted order must be better: <= 1 | 15 .. 26 (where it can be seen).
constexpr double kLagErrors = 5, kLagTimes = 1.4;
// Share of patterns that do not resemble their neighbours: <= .13 | .20 .. .34 (30 % shuffled).
constexpr double kStrangers = 0.19;
// Rank of the distance of the most similar patterns in space and in time, .5 = chance, and by how
// many spreads they stand out. On samples that repeat themselves (a Siemens star) good scans had
// .56 in space, and stood out by 7.9, but none had less than .2 in time beside it | shuffled
// positions of patterns that were taken row by row .42 .. .55 and .02 .. .2.
constexpr double kPartnerFar = 0.42, kPartnerStandsOut = 4, kPartnerTime = 0.15,
                 kPartnerUnsure = 0.3;
// Where the probe's own shadow is strong and the patterns differ by more than photon noise (share
// of their differences), the shadow is seen: strength >= 14 on all such good scans.
constexpr double kSignal = 0.5, kMissing = 10;
constexpr std::int64_t kLagPairs = 300, kPartnerPatterns = 100;

// A shadow that counts as seen: strength, mean, gain; as in neighbours.cpp.
constexpr double kLaggedSeen = 15, kLaggedMean = 0.012, kLaggedGain = 0.7;

/// Photon noise in the patterns' differences from their mean, of unit power: (k) float64.
at::Tensor noise_of(const Patterns& patterns) {
  const at::Tensor mean =
      binned(patterns.counts, patterns.mask).counts.mean({0}, false, at::kDouble);
  return mean.clamp_max(0.25).sum() / patterns.totals.clamp_min(1);
}

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
  if (best.strength <= kLaggedSeen || best.mean <= kLaggedMean ||
      best.strength <= kLagTimes * given ||
      std::abs(best.gain) * likeness.detector_pixels <= kLaggedGain)
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
  // Patterns that share no place of the sample need not be alike.
  if (diagnosis.numbers["step_over_probe"] > 1) return;
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
bool are_missing(Diagnosis& diagnosis, const SeenShadow& seen) {
  return seen.own_strong && !seen.is_seen && seen.best.strength < kMissing &&
         diagnosis.numbers["signal"] > kSignal && diagnosis.numbers["step_over_probe"] < 0.55;
}

void judge_partners(Diagnosis& diagnosis, const Likeness& likeness, const Patterns& patterns,
                    const SeenShadow& seen) {
  const Partners found = partners_of(likeness, patterns);
  diagnosis.numbers["partner_space"] = found.space;
  diagnosis.numbers["partner_time"] = found.time;
  diagnosis.numbers["partner_stands_out"] = found.stand_out;
  const std::string cause = "order: patterns have nothing to do with positions";
  const bool far = found.space > kPartnerFar && seen.best.strength < kLaggedSeen;
  if (far && found.time < kPartnerTime && found.stand_out > kPartnerStandsOut)
    return diagnosis.say(
        Level::warn, cause,
        "patterns that resemble each other were taken one after the other, but their "
        "positions lie as far apart as any two: these are another scan's, or in "
        "another order");
  if (are_missing(diagnosis, seen))
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

void judge_order(Diagnosis& diagnosis, const Likeness& likeness, const Patterns& patterns,
                 const SeenShadow& seen, const ExamineOptions& options) {
  const at::Tensor power = likeness.norms.to(at::kDouble).square();
  diagnosis.numbers["signal"] = 1 - median_of(noise_of(patterns) / power);
  if (!seen.is_seen &&
      find_lagged_shadow(diagnosis, likeness, patterns, seen.best.strength, options))
    return;
  const Matrix turn = seen.is_seen ? turn_by(seen.best) : Matrix{0, 0, 0, 0};
  if (find_shift(diagnosis, likeness, patterns, turn, options)) return;
  if (seen.is_seen)
    find_strangers(diagnosis, likeness, patterns, turn);
  else
    judge_partners(diagnosis, likeness, patterns, seen);
}

}  // namespace ptyche
