// A mask the wrong way round, lines without counts, a quadrant of another gain, hot pixels; or no
// picture at all.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "ptyche/data/array.h"
#include "ptyche/prepare/judge.h"

namespace ptyche {
namespace {

// Share of pixels that are counted: >= .92 | <= .08 (inverted); and the hidden ones then hold the
// light: times that of the counted ones.
constexpr double kMaskCounted = 0.5, kHiddenLight = 5;
constexpr double kUsualLight = 0.99;  // of the pixels: brighter ones, perhaps hot, count no more
// Variance over the pixels of the mean pattern, over Poisson's: >= 2.9 (18000 photons in all, N =
// 128), mostly > 100 | <= 1.03 (noise only).
constexpr double kFlat = 1.5;
// The same of blocks of pixels: 27 (48 photons a pattern, 36 patterns, N = 256) | .8 .. 1.3
// (noise).
constexpr double kFlatBlocks = 2;
constexpr std::int64_t kBlocks = 16;  // a side
// Share of all counts in the lines opposite to lines without any: <= 2e-5 | 1.0.
constexpr double kDeadShare = 0.05;
// Counts of the weaker line beside a gap, in all patterns: too many for none by chance. Lines
// beside a gap are about as bright as the next ones; where the light itself is dark, it falls off
// before.
constexpr double kMissing = 200, kFallsOff = 0.5, kLit = 20;
constexpr double kGapShare = 0.1;  // of the detector, at most, in one gap
// From the middle of a hole to bright pixels: N over it, and px at most, for it takes time.
constexpr std::int64_t kHoleShare = 6, kFarthest = 40;
// Light of a pixel that the mask hides, over the mean one: of one that counts nothing 0.
constexpr double kStillCounts = 0.01, kMovedMask = 0.5;
constexpr double kLeftOpen = 0.1;  // of the gaps
// Brightest quadrant over the median one: <= 2.2 | 5.5 .. 11; jump of ln(counts) on its borders:
// <= .03 | 1.6 .. 2.3.
constexpr double kQuadrant = 3, kJump = 1;
// Pixel's mean over its brightest neighbour's, 3 px and more off the centre: <= 2.4 | 4.2 .. 5700.
constexpr double kHot = 3.2, kHotShare = 0.01;
constexpr std::int64_t kHotCentre_px = 3;
constexpr std::int64_t kMaskFrames = 64;
// Spikes a pattern, on pixels that have one in less than every tenth pattern: 0 on good scans | 1.5
// and more. Pixels that have one more often are hot, or a crystal's: with more than a few nothing
// is done.
constexpr double kSpikes = 0.05, kOften = 0.1;
constexpr std::int64_t kHotOnes = 8;

double sum_of(const at::Tensor& values) { return values.sum().item<double>(); }

}  // namespace

void judge_mask(Diagnosis& diagnosis, const Scan& scan, const Patterns& patterns,
                const ExamineOptions& options) {
  const double counted = patterns.mask.to(at::kDouble).mean().item<double>();
  diagnosis.numbers["mask_counted"] = counted;
  if (counted >= kMaskCounted) return;
  const std::int64_t stride = std::max<std::int64_t>(scan.frames() / kMaskFrames, 1);
  const at::Tensor raw =
      counts_of(scan, at::arange(0, scan.frames(), stride, at::kLong)).to(at::kDouble).mean(0);
  const at::Tensor mean = raw.minimum(at::quantile(raw, kUsualLight));
  const double seen = sum_of(mean * patterns.mask), hidden = sum_of(mean) - seen;
  if (hidden <= kHiddenLight * seen) return;
  diagnosis.mend("mask: inverted",
                 fmt::format("the mask counts {:.3g} % of the pixels and hides those with {:.3g} % "
                             "of the light: it is the wrong way round and is inverted (--mask FILE "
                             "says otherwise)",
                             100 * counted, 100 * hidden / (seen + hidden)),
                 ChangeMask{patterns.mask.logical_not(), true}, options, {"mask"});
}

namespace {

/// Variance over Poisson's of the light in 16 x 16 blocks of the mean pattern, of those that the
/// mask leaves whole: few photons on many pixels are even as noise pixel by pixel. 0 where blocks
/// are few.
double unevenness_of_blocks(const Patterns& patterns, const at::Tensor& mean) {
  const std::int64_t side = patterns.pixels() / kBlocks;
  if (side < 2) return 0;
  const std::vector<std::int64_t> shape{kBlocks, side, kBlocks, side};
  const auto in_blocks = [&](const at::Tensor& image) {
    return image.narrow(0, 0, kBlocks * side).narrow(1, 0, kBlocks * side).reshape(shape);
  };
  const at::Tensor whole = in_blocks(patterns.mask).all(3).all(1);
  const at::Tensor light = in_blocks(mean).sum({1, 3}).masked_select(whole);
  if (light.numel() < kBlocks * kBlocks / 4) return 0;
  const double noise = light.mean().item<double>() / static_cast<double>(patterns.size());
  return light.var(false).item<double>() / (noise + 1e-12);
}

/// Whether the mean pattern is as even as noise.
bool is_noise_only(Diagnosis& diagnosis, const Patterns& patterns, const at::Tensor& mean) {
  const at::Tensor seen = mean.masked_select(patterns.mask);
  if (seen.numel() < 16) return false;
  const double noise = seen.mean().item<double>() / static_cast<double>(patterns.size());
  const double ratio = seen.var(false).item<double>() / (noise + 1e-12);
  diagnosis.numbers["mean_over_noise"] = ratio;
  return ratio < kFlat && unevenness_of_blocks(patterns, mean) < kFlatBlocks;
}

/// Lines of a detector from one edge inwards that count nothing although the mask lets them.
struct DeadLines {
  std::int64_t number = 0;
  double opposite = 0;  ///< share of all counts in the lines opposite to them
};

DeadLines dead_lines(const at::Tensor& sums, const at::Tensor& counted) {
  const std::vector<double> line = to_vector(sums), pixels = to_vector(counted.to(at::kDouble));
  DeadLines dead;
  double lost = 0;
  for (std::size_t i = 0; i < line.size() && line[i] == 0; ++i) {
    ++dead.number;
    if (pixels[i] > 0) lost += line[line.size() - 1 - i];
  }
  dead.opposite = lost / std::max(sum_of(sums), 1e-9);
  return dead;
}

/// The edge with the most light opposite to dead lines, and the mask without these.
bool find_dead_lines(Diagnosis& diagnosis, const Patterns& patterns, const at::Tensor& mean,
                     const ExamineOptions& options) {
  double worst = 0;
  at::Tensor mask;
  std::int64_t number = 0;
  for (const std::int64_t axis : {0, 1})
    for (const bool from_end : {false, true}) {
      const at::Tensor sums = mean.sum(1 - axis), counted = patterns.mask.sum(1 - axis);
      const DeadLines dead =
          from_end ? dead_lines(sums.flip(0), counted.flip(0)) : dead_lines(sums, counted);
      if (dead.opposite <= worst) continue;
      worst = dead.opposite;
      number = dead.number;
      mask = patterns.mask.clone();
      mask.narrow(axis, from_end ? sums.size(0) - number : 0, number).fill_(false);
    }
  diagnosis.numbers["dead_lines"] = worst;
  if (worst <= kDeadShare) return false;
  diagnosis.mend(
      "detector: dead lines",
      fmt::format("{} lines at an edge count nothing, opposite to lines with {:.3g} % of "
                  "the light: they are masked (--mask FILE says otherwise)",
                  number, 100 * worst),
      ChangeMask{mask}, options, {"mask"});
  return true;
}

/// Lines that count nothing although the mask lets them, between lines that do: the gaps of a
/// detector of several modules. `seen` (lines) counts of all patterns.
at::Tensor gap_lines(const at::Tensor& seen, const at::Tensor& counted) {
  const std::vector<double> line = to_vector(seen), pixels = to_vector(counted.to(at::kDouble));
  const auto size = std::ssize(line);
  const auto at = [&](std::int64_t i) { return line[static_cast<std::size_t>(i)]; };
  at::Tensor gaps = at::zeros({size}, at::kBool);
  for (std::int64_t from = 1; from < size - 2; ++from) {
    std::int64_t end = from;
    while (end < size && at(end) == 0) ++end;
    const auto wide = static_cast<double>(end - from);
    if (end > from && end + 1 < size && from > 1 && wide <= kGapShare * static_cast<double>(size)) {
      const double before = at(from - 1), after = at(end);
      const bool abrupt = before > kFallsOff * at(from - 2) && after > kFallsOff * at(end + 1);
      if (abrupt && std::min(before, after) > kMissing)
        gaps.narrow(0, from, end - from).fill_(true);
    }
    from = end;
  }
  for (std::int64_t i = 0; i < size; ++i)
    if (pixels[static_cast<std::size_t>(i)] == 0) gaps[i] = false;
  return gaps;
}

/// An image moved by one pixel along an axis, false from outside.
at::Tensor shifted(const at::Tensor& image, std::int64_t axis, std::int64_t by) {
  at::Tensor moved = at::zeros_like(image);
  const std::int64_t kept = image.size(axis) - 1;
  moved.narrow(axis, by > 0 ? 1 : 0, kept).copy_(image.narrow(axis, by > 0 ? 0 : 1, kept));
  return moved;
}

/// Where a pixel of `which` is seen up, down, left and right, at most `far` pixels away, across
/// `open` ones: four images.
std::array<at::Tensor, 4> seen_along_axes(const at::Tensor& which, const at::Tensor& open,
                                          std::int64_t far) {
  std::array<at::Tensor, 4> sees;
  for (std::size_t side = 0; side < 4; ++side) {
    at::Tensor seen = which;
    sees[side] = at::zeros_like(which);
    for (std::int64_t step = 0; step < far; ++step) {
      seen = shifted(seen, static_cast<std::int64_t>(side / 2), side % 2 == 0 ? 1 : -1)
                 .logical_and(open);
      sees[side].logical_or_(seen);
    }
  }
  return sees;
}

/// `found` and what of `allowed` hangs together with it.
at::Tensor grown_into(at::Tensor found, const at::Tensor& allowed) {
  for (std::int64_t before = -1; before != found.sum().item<std::int64_t>();) {
    before = found.sum().item<std::int64_t>();
    at::Tensor beside = found;
    for (const std::int64_t axis : {0, 1})
      for (const std::int64_t by : {-1, 1}) beside = beside.logical_or(shifted(found, axis, by));
    found = found.logical_or(beside.logical_and(allowed));
  }
  return found;
}

bool touches_edge(const at::Tensor& found) {
  const std::int64_t last = found.size(0) - 1;
  return found[0].any().item<bool>() || found[last].any().item<bool>() ||
         found.select(1, 0).any().item<bool>() || found.select(1, last).any().item<bool>();
}

/// Pixels without counts that see lit ones along all four axes, bright ones along two: dead ones,
/// modules, beam stops; with all that hangs together with them, or, where that reaches the edge,
/// with what has lit ones on two opposite sides: the arm of a beam stop. Light itself falls off
/// before it is dark.
///   sums  counts of all patterns, 0 where masked
at::Tensor holes(const at::Tensor& sums, const at::Tensor& mask) {
  const at::Tensor open = sums.eq(0), dark = open.logical_and(mask);
  const std::int64_t far = std::clamp<std::int64_t>(sums.size(0) / kHoleShare, 2, kFarthest);
  const auto lit = seen_along_axes(sums.gt(kLit), open, far);
  at::Tensor bright = at::zeros_like(sums);
  for (const at::Tensor& side : seen_along_axes(sums.gt(kMissing), open, far)) bright.add_(side);
  const at::Tensor between_rows = dark.logical_and(lit[0]).logical_and(lit[1]);
  const at::Tensor between_cols = dark.logical_and(lit[2]).logical_and(lit[3]);
  const at::Tensor inside = between_rows.logical_and(between_cols).logical_and(bright.ge(2));
  const at::Tensor whole = grown_into(inside, dark);
  const bool bounded =
      sum_of(whole) <= kGapShare * static_cast<double>(whole.numel()) && !touches_edge(whole);
  return bounded ? whole : grown_into(inside, between_rows.logical_or(between_cols));
}

/// Pixels that should be masked, and are not.
at::Tensor gaps_of(const Patterns& patterns, const at::Tensor& mean) {
  const at::Tensor sums = mean * static_cast<double>(patterns.size());
  const at::Tensor& counted = patterns.mask;
  return gap_lines(sums.sum(1), counted.sum(1))
      .unsqueeze(1)
      .logical_or(gap_lines(sums.sum(0), counted.sum(0)))
      .logical_or(holes(sums, counted))
      .logical_and(counted);
}

/// The mask as another convention has it, if it hides the gaps so and hardly anything that counts:
/// zero frequency at the corner, an axis flipped, axes swapped.
///   light  (N, N) of hidden pixels, too
std::optional<at::Tensor> other_mask(const at::Tensor& mask, const at::Tensor& gaps,
                                     const at::Tensor& light) {
  const std::int64_t half = mask.size(0) / 2;
  const at::Tensor lit = light.gt(kStillCounts * light.mean());
  const at::Tensor dark = gaps.logical_or(mask.logical_not().logical_and(light.eq(0)));
  const auto wrong = [&](const at::Tensor& candidate) {
    return sum_of(at::where(candidate, dark, lit));
  };
  std::optional<at::Tensor> best;
  double least = kMovedMask * wrong(mask);
  for (int way = 1; way < 16; ++way) {
    at::Tensor other = (way & 1) != 0 ? at::roll(mask, {half, half}, {0, 1}) : mask;
    if ((way & 2) != 0) other = other.flip(0);
    if ((way & 4) != 0) other = other.flip(1);
    if ((way & 8) != 0) other = other.t();
    const bool hides_them = sum_of(gaps.logical_and(other)) < kLeftOpen * sum_of(gaps);
    if (!hides_them || wrong(other) >= least) continue;
    least = wrong(other);
    best = other.contiguous();
  }
  return best;
}

bool find_gaps(Diagnosis& diagnosis, const Scan& scan, const Patterns& patterns,
               const at::Tensor& mean, const ExamineOptions& options) {
  const at::Tensor gaps = gaps_of(patterns, mean);
  const auto number = gaps.sum().item<std::int64_t>();
  diagnosis.numbers["gaps"] = static_cast<double>(number);
  if (number == 0) return false;
  const at::Tensor light = counts_of(scan, patterns.frames).mean({0}, false, at::kDouble);
  const auto other = other_mask(patterns.mask, gaps, light);
  if (other && options.given.contains("mask") && !options.given.contains("mask-counts"))
    diagnosis.say(
        Level::refuse, "mask: in another place",
        fmt::format("{} pixels between bright lines count nothing, and the mask of --mask "
                    "hides others that count: flipped, transposed or moved by half the "
                    "detector it would fit (--mask-counts nonzero or zero takes it as it "
                    "is)",
                    number));
  else if (other)
    diagnosis.mend("mask: in another place",
                   fmt::format("{} pixels between bright lines count nothing, and the mask hides "
                               "others that count: it is moved to where it fits, zero frequency, "
                               "flips and axes as in the patterns (--mask FILE says otherwise)",
                               number),
                   ChangeMask{*other}, options, {"mask"});
  else
    diagnosis.mend("detector: gaps",
                   fmt::format("{} pixels between bright ones count nothing in any pattern (gaps, "
                               "dead pixels, a beam stop): they are masked (--mask FILE says "
                               "otherwise)",
                               number),
                   ChangeMask{patterns.mask.logical_and(gaps.logical_not())}, options, {"mask"});
  return true;
}

/// Of the lines beside the middle, how much more ln(counts) jumps across the middle than between
/// the others.
double jump_at_middle(const at::Tensor& lines, double floor) {
  const std::int64_t half = lines.size(0) / 2;
  const std::vector<double> level = to_vector((lines + floor).log());
  std::vector<double> steps;
  for (std::int64_t i = half - 5; i < half + 4; ++i)
    steps.push_back(
        std::abs(level[static_cast<std::size_t>(i)] - level[static_cast<std::size_t>(i) + 1]));
  const double across = steps[4];
  std::ranges::nth_element(steps, steps.begin() + 4);
  return across - steps[4];
}

bool find_gain(Diagnosis& diagnosis, const at::Tensor& mean) {
  const std::int64_t size = mean.size(0), half = size / 2;
  if (half < 8) return false;
  std::array<double, 4> quadrants{};
  for (std::size_t i = 0; i < 4; ++i)
    quadrants[i] = sum_of(mean.narrow(0, i / 2 * half, half).narrow(1, i % 2 * half, half));
  std::ranges::sort(quadrants);
  const double ratio = quadrants[3] / std::max(0.5 * (quadrants[1] + quadrants[2]), 1e-9);
  const double floor = 1e-9 + 0.05 * mean.mean().item<double>();
  std::array<double, 4> jumps{};
  for (std::size_t i = 0; i < 4; ++i) {
    const at::Tensor turned = i < 2 ? mean : mean.t();
    const at::Tensor part =
        i % 2 == 0 ? turned.narrow(1, 0, half - 3) : turned.narrow(1, half + 3, half - 3);
    jumps[i] = jump_at_middle(part.sum(1), floor);
  }
  std::ranges::sort(jumps);
  diagnosis.numbers["quadrant"] = ratio;
  diagnosis.numbers["quadrant_jump"] = jumps[2];
  if (ratio <= kQuadrant || jumps[2] <= kJump) return false;
  diagnosis.say(
      Level::warn, "detector: gain of a quadrant",
      fmt::format("one quadrant counts {:.3g} times what the others do, with a jump at its "
                  "border: its gain is another; --mask FILE can leave it out",
                  ratio));
  return true;
}

bool find_spikes(Diagnosis& diagnosis, const Patterns& patterns, const ExamineOptions& options) {
  const RemoveSpikes usual;
  const at::Tensor at_pixel = spikes_in(patterns.counts, usual).sum(0);
  const auto number = static_cast<double>(patterns.size());
  const at::Tensor often = at_pixel.gt(std::max(2.0, kOften * number));
  const double rare = sum_of(at_pixel.masked_fill(often, 0));
  diagnosis.numbers["spikes"] = rare / number;
  if (rare <= std::max(2.0, kSpikes * number) || often.sum().item<std::int64_t>() > kHotOnes)
    return false;
  diagnosis.mend(
      "detector: cosmic rays",
      fmt::format("{:.0f} single pixels in {:.0f} patterns are more than {:.0f} times as "
                  "bright as all beside them, and are not in the other patterns: they "
                  "get the mean of those beside them (--no-check leaves them)",
                  rare, number, usual.times),
      usual, options, {});
  return true;
}

void find_hot_pixels(Diagnosis& diagnosis, const Patterns& patterns, const at::Tensor& mean,
                     const ExamineOptions& options) {
  const double floor = 10 / static_cast<double>(patterns.size());
  at::Tensor ratio = (mean + floor) / (brightest_beside(mean) + floor) * patterns.mask;
  const std::int64_t middle = patterns.pixels() / 2, width = 2 * kHotCentre_px + 1;
  if (middle <= kHotCentre_px) return;
  ratio.narrow(0, middle - kHotCentre_px, width).narrow(1, middle - kHotCentre_px, width).zero_();
  const at::Tensor hot = ratio.gt(kHot);
  const auto number = hot.sum().item<std::int64_t>();
  diagnosis.numbers["hot"] = ratio.max().item<double>();
  if (number == 0 || static_cast<double>(number) > kHotShare * static_cast<double>(hot.numel()))
    return;
  const at::Tensor where = hot.nonzero()[0];
  diagnosis.mend(
      "detector: hot pixels",
      fmt::format(
          "{} pixel{} more than {} times what the brightest neighbour does in the mean, the "
          "first at {},{}: masked (--mask FILE says otherwise)",
          number, number == 1 ? " counts" : "s count", kHot, where[0].item<std::int64_t>(),
          where[1].item<std::int64_t>()),
      ChangeMask{patterns.mask.logical_and(hot.logical_not())}, options, {"mask"});
}

}  // namespace

void judge_detector(Diagnosis& diagnosis, const Scan& scan, const Patterns& patterns,
                    const ExamineOptions& options) {
  const at::Tensor mean = patterns.counts.mean({0}, false, at::kDouble);
  if (is_noise_only(diagnosis, patterns, mean))
    return diagnosis.say(Level::refuse, "detector: noise only",
                         "the mean pattern is as even as noise: there is no diffraction in it");
  if (find_dead_lines(diagnosis, patterns, mean, options) ||
      find_gaps(diagnosis, scan, patterns, mean, options) ||
      find_spikes(diagnosis, patterns, options) || find_gain(diagnosis, mean))
    return;
  find_hot_pixels(diagnosis, patterns, mean, options);
}

}  // namespace ptyche
