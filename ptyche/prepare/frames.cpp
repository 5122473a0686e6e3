// Single patterns: stuck ones that repeat another, and those that are none of this scan.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "ptyche/data/array.h"
#include "ptyche/prepare/judge.h"

namespace ptyche {
namespace {

// Share of frames that repeat another bit for bit: 0 | .48 (half stuck), .98 (all).
constexpr double kRepeated = 0.02, kAllRepeated = 0.9;
// Total over the median one: .15 .. 2.2 | 0 and > 10.
constexpr double kEmpty = 0.05, kHuge = 5;
constexpr double kUsualLow = 0.3, kUsualHigh = 3;
// 1 - cos(frame, median frame) over its median, in frames of a usual total; and in spreads above
// it.
constexpr double kUnlike = 1.8, kUnlikeSpreads = 6, kUnlikeLeast = 0.05;
// And over that of the four nearest frames, in the median: a patch of the sample that is unlike the
// others has neighbours.
constexpr double kUnlikeNeighbours = 1.5;
// Between the angles of what belongs and what does not, least over largest: <= 1.4 in samples that
// change by themselves (lines, crystals) | noise among the patterns 2.2 .. 60, one of 40 scans
// less.
constexpr double kGap = 1.5;
// Share of frames that is said: single ones do no harm.
constexpr double kGarbage = 0.01;
// Up to this share, empty frames are the tail of a beam that fluctuates.
constexpr double kBeamTail = 0.06, kBeamFluctuates = 0.15;
constexpr std::int64_t kBatch = 64, kMedianFrames = 150;
constexpr std::int64_t kMostValues = 100'000'000;  // .3 s

/// What `work` makes of the counts (b, N, N) float32 of some frames at a time, (b, ...), of all
/// (k, ...) float64. The whole is there before the batches: small results between large ones would
/// keep their memory from being used again.
template <class Work>
at::Tensor of_batches(const Scan& scan, const at::Tensor& frames, const Work& work) {
  at::Tensor all;
  for (std::int64_t first = 0; first < frames.size(0); first += kBatch) {
    const std::int64_t length = std::min(kBatch, frames.size(0) - first);
    const at::Tensor batch = frames.narrow(0, first, length);
    const at::Tensor part = work(counts_of(scan, batch).to(at::kFloat));
    if (!all.defined()) {
      std::vector<std::int64_t> sizes = part.sizes().vec();
      sizes.at(0) = frames.size(0);
      all = at::empty(sizes, at::kDouble);
    }
    all.narrow(0, first, length).copy_(part);
  }
  return all;
}

/// Of every frame (k): its total, and a sum with weights that no two frames share by chance.
struct Sums {
  at::Tensor totals, prints;  // (k) float64
};

Sums sums_of(const Scan& scan, const at::Tensor& frames) {
  const std::int64_t pixels = scan.pattern_size() * scan.pattern_size();
  const at::Tensor weights = at::stack(
      {at::ones({pixels}, at::kFloat),
       (at::arange(1, pixels + 1, at::kDouble) * 0.618033988749895).frac().to(at::kFloat)},
      1);
  const at::Tensor sums = of_batches(
      scan, frames, [&](const at::Tensor& counts) { return counts.flatten(1).matmul(weights); });
  return {sums.select(1, 0).contiguous(), sums.select(1, 1).contiguous()};
}

bool are_equal(const Scan& scan, std::int64_t first, std::int64_t second) {
  const at::Tensor both = counts_of(scan, at::tensor({first, second}, at::kLong));
  return at::equal(both[0], both[1]);
}

/// Frames that are equal to an earlier one.
std::vector<std::int64_t> repeats_of(const Scan& scan, const at::Tensor& frames) {
  const Sums sums = sums_of(scan, frames);
  const std::vector<double> totals = to_vector(sums.totals), prints = to_vector(sums.prints);
  const double median = sums.totals.median().item<double>();
  std::unordered_map<double, std::int64_t> seen;
  std::vector<std::int64_t> repeats;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    if (totals[i] < kEmpty * median || totals[i] <= 0) continue;
    const auto frame = frames[static_cast<std::int64_t>(i)].item<std::int64_t>();
    const auto [first, is_new] = seen.emplace(prints[i], frame);
    if (!is_new && are_equal(scan, first->second, frame)) repeats.push_back(frame);
  }
  return repeats;
}

at::Tensor as_frames(const std::vector<std::int64_t>& frames) {
  return at::tensor(frames, at::kLong);
}

std::string first_of(const std::vector<std::int64_t>& frames) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(frames.size(), 6); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", frames[i]);
  return text + (frames.size() > 6 ? ", ..." : "");
}

}  // namespace

void judge_repeats(Diagnosis& diagnosis, const Scan& scan) {
  const at::Tensor frames = usable_frames(scan);
  const std::vector<std::int64_t> repeats = repeats_of(scan, frames);
  const double share = static_cast<double>(repeats.size()) / static_cast<double>(frames.size(0));
  diagnosis.numbers["repeated"] = share;
  if (share > kAllRepeated ||
      (frames.size(0) - static_cast<std::int64_t>(repeats.size()) < 4 && share > 0.5))
    return diagnosis.say(Level::refuse, "frames: all the same",
                         fmt::format("{} of {} patterns are bit for bit equal to another",
                                     repeats.size(), frames.size(0)));
  if (share <= kRepeated) return;
  diagnosis.mend("frames: repeated",
                 fmt::format("{} of {} patterns are bit for bit equal to an earlier one ({}): the "
                             "detector was stuck; they are left out",
                             repeats.size(), frames.size(0), first_of(repeats)),
                 RejectFrames{as_frames(repeats)}, {}, {});
}

namespace {

/// Amplitudes of unit norm, (k, m) float32.
at::Tensor directions(const at::Tensor& counts, const at::Tensor& mask) {
  const at::Tensor amplitude = binned(counts, mask).counts.clamp_min(0).sqrt().flatten(1);
  return amplitude / amplitude.norm(2, {1}, true).clamp_min(1e-9);
}

/// The median of some frames' directions, of unit norm, (m) float32.
at::Tensor median_direction(const at::Tensor& all) {
  const std::int64_t stride = std::max<std::int64_t>(all.size(0) / kMedianFrames, 1);
  at::Tensor middle = std::get<0>(all.slice(0, 0, all.size(0), stride).t().contiguous().median(1));
  if (middle.norm().item<double>() <= 0) middle = all.mean(0);
  return middle / middle.norm().clamp_min(1e-9);
}

/// 1 - cos of the angle between each of `frames` and the median one, (k) float64.
at::Tensor angles_of(const Scan& scan, const at::Tensor& frames, const Patterns& patterns) {
  const at::Tensor own = directions(patterns.counts, patterns.mask), middle = median_direction(own);
  if (frames.size(0) == patterns.size()) return 1 - own.matmul(middle).to(at::kDouble);
  return 1 - of_batches(scan, frames, [&](const at::Tensor& counts) {
           return directions(counts.mul_(patterns.mask), patterns.mask).matmul(middle);
         });
}

at::Tensor totals_of(const Scan& scan, const at::Tensor& frames, const Patterns& patterns) {
  if (frames.size(0) == patterns.size()) return patterns.totals;
  return of_batches(scan, frames, [&](const at::Tensor& counts) {
    return counts.mul_(patterns.mask).flatten(1).sum(1, false, at::kDouble);
  });
}

/// Those of the flagged frames that are far more unlike than the frames beside them.
at::Tensor alone(const at::Tensor& flags, const at::Tensor& angles, const at::Tensor& positions) {
  at::Tensor kept = flags.clone();
  const at::Tensor flagged = flags.nonzero().flatten();
  for (std::int64_t i = 0; i < flagged.size(0); ++i) {
    const auto own = flagged[i].item<std::int64_t>();
    at::Tensor away = (positions - positions[own]).square().sum(1);
    away[own] = INFINITY;
    const at::Tensor beside =
        std::get<1>(away.topk(std::min<std::int64_t>(4, away.size(0) - 1), 0, /*largest=*/false));
    const double usual = at::quantile(angles.index_select(0, beside), 0.5).item<double>();
    if (angles[own].item<double>() <= kUnlikeNeighbours * usual) kept[own] = false;
  }
  return kept;
}

/// The least angle above the first gap in the upper half of those of some frames; infinite without
/// one. What the sample does to its patterns, as atoms and the places between them do, leaves none.
double above_the_gap(const at::Tensor& angles, const at::Tensor& some) {
  const at::Tensor sorted = std::get<0>(angles.masked_select(some).sort());
  const at::Tensor upper = sorted.slice(0, sorted.size(0) / 2).clamp_min(1e-9);
  if (upper.size(0) < 2) return INFINITY;
  const at::Tensor gaps = (upper.slice(0, 1) / upper.slice(0, 0, -1)).ge(kGap).nonzero();
  return gaps.size(0) == 0 ? INFINITY : upper[gaps[0].item<std::int64_t>() + 1].item<double>();
}

/// Flags of frames of a usual total that are unlike the median frame.
at::Tensor unlike_frames(Diagnosis& diagnosis, const at::Tensor& angles, const at::Tensor& usual,
                         const at::Tensor& positions) {
  if (usual.sum().item<std::int64_t>() < 8) return at::zeros_like(usual);
  const at::Tensor ordinary = angles.masked_select(usual);
  const double middle = ordinary.median().item<double>();
  const double spread = 1.4826 * (ordinary - middle).abs().median().item<double>() + 1e-6;
  diagnosis.numbers["unlike_median"] = middle;
  diagnosis.numbers["unlike_most"] = ordinary.max().item<double>() / std::max(middle, 1e-9);
  const at::Tensor unlike = usual.logical_and(angles.gt(kUnlike * middle))
                                .logical_and(angles.gt(middle + kUnlikeSpreads * spread))
                                .logical_and(angles.gt(kUnlikeLeast));
  const at::Tensor strange = alone(unlike, angles, positions);
  const at::Tensor others = usual.logical_and(unlike.logical_not());
  return strange.logical_and(angles.ge(above_the_gap(angles, others.logical_or(strange))));
}

std::int64_t number_of(const at::Tensor& flags) { return flags.sum().item<std::int64_t>(); }

}  // namespace

void judge_frames(Diagnosis& diagnosis, const Scan& scan, const Patterns& patterns, bool drifts) {
  const bool all = scan.frames() * scan.pattern_size() * scan.pattern_size() <= kMostValues;
  const at::Tensor frames = all ? usable_frames(scan) : patterns.frames;
  const at::Tensor totals = totals_of(scan, frames, patterns);
  const double median = std::max(totals.median().item<double>(), 1e-9);
  const at::Tensor empty = totals.lt(kEmpty * median), huge = totals.gt(kHuge * median);
  const at::Tensor usual =
      totals.gt(kUsualLow * median).logical_and(totals.lt(kUsualHigh * median));
  const at::Tensor unlike = drifts ? at::zeros_like(usual)
                                   : unlike_frames(diagnosis, angles_of(scan, frames, patterns),
                                                   usual, scan.positions().index_select(0, frames));
  const at::Tensor bad = empty.logical_or(huge).logical_or(unlike);
  const double beam = spread_about_neighbours(patterns);
  const double share = bad.to(at::kDouble).mean().item<double>();
  diagnosis.numbers["beam"] = beam;
  diagnosis.numbers["garbage"] = share;
  const bool only_tail =
      beam > kBeamFluctuates && number_of(unlike) + number_of(huge) == 0 && share < kBeamTail;
  if (share <= kGarbage || number_of(bad) < 2 || only_tail) return;
  const at::Tensor which = frames.masked_select(bad);
  const std::vector<std::int64_t> list(which.const_data_ptr<std::int64_t>(),
                                       which.const_data_ptr<std::int64_t>() + which.numel());
  diagnosis.mend("frames: garbage",
                 fmt::format("{} of {} patterns are left out: {} empty, {} overfull, {} unlike all "
                             "others ({})",
                             list.size(), frames.size(0), number_of(empty), number_of(huge),
                             number_of(unlike), first_of(list)),
                 RejectFrames{which}, {}, {});
}

}  // namespace ptyche
