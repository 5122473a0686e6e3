#include "ptyche/io/invalid_pixels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ptyche/core/progress.h"

namespace ptyche {
namespace {

constexpr std::int64_t kPatternsAtOnce = 32;
/// Light goes on up to the largest value; a marker stands alone: what lies below it is less than
/// this share of it, or, in a window of so many pixels around, in all but a few cases.
constexpr double kFarAbove = 0.5, kBesideItsKind = 0.3;
constexpr std::int64_t kWindow = 5;
/// Patterns of which so many have values below 0 are those of a detector with noise.
constexpr double kNoisePatterns = 0.9;
/// Of the counted pixels: what may be masked in all patterns.
constexpr double kFewPixels = 0.01;
constexpr std::int64_t kNeighbours = 4;

/// What the values of a stack are, hidden pixels as 0.
struct Range {
  double least = 0, largest = 0;  // of finite values
  bool numbers = true;            // all are finite
};

Range range_of(const at::Tensor& patterns, const at::Tensor& hidden) {
  Range range;
  const bool all_counted = !hidden.any().item<bool>();
  for (std::int64_t first = 0; first < patterns.size(0); first += kPatternsAtOnce) {
    at::Tensor batch = patterns.slice(0, first, first + kPatternsAtOnce);
    if (!all_counted) batch = batch.masked_fill(hidden, 0);
    if (batch.is_floating_point()) {
      const at::Tensor good = at::isfinite(batch);
      range.numbers = range.numbers && good.all().item<bool>();
      if (!range.numbers) batch = batch.masked_fill(good.logical_not(), 0);
    }
    const auto [least, largest] = at::aminmax(batch);
    range.least = std::min(range.least, least.to(at::kDouble).item<double>());
    range.largest = std::max(range.largest, largest.to(at::kDouble).item<double>());
  }
  return range;
}

/// Whether a value is the largest of a type, the one before it, or what float32 makes of it.
bool is_top_of_type(double value) {
  for (const int bits : {15, 16, 31, 32, 63, 64}) {
    const double top = std::exp2(bits) - 1;
    if (std::abs(value - top) <= 1 || (bits > 16 && std::abs(value / top - 1) < 1e-7)) return true;
  }
  return false;
}

/// The same for the values from there on.
double just_below(double top) { return top * (1 - 1e-7) - 1.5; }

/// What counts as no count in counted pixels.
struct Markers {
  double from = INFINITY;   // values from here on
  bool below_zero = false;  // and less than 0
  at::Tensor hidden;        // (rows, cols) bool

  /// (b, rows, cols) bool.
  at::Tensor in(const at::Tensor& batch) const {
    const at::Tensor values = batch.to(at::kDouble);
    at::Tensor bad = at::isfinite(values).logical_not_();
    if (std::isfinite(from)) bad.logical_or_(values.ge(from));
    if (below_zero) bad.logical_or_(values.lt(0));
    return bad.masked_fill_(hidden, false);
  }
};

/// Some patterns (k) int64 and which of their pixels hold no count, (k, rows, cols) bool.
struct Invalid {
  at::Tensor patterns, pixels;
};

Invalid invalid_in(const at::Tensor& patterns, const Markers& markers) {
  std::vector<at::Tensor> numbers, pixels;
  for (std::int64_t first = 0; first < patterns.size(0); first += kPatternsAtOnce) {
    const at::Tensor bad = markers.in(patterns.slice(0, first, first + kPatternsAtOnce));
    const at::Tensor some = at::nonzero(bad.flatten(1).any(1)).flatten();
    if (some.size(0) == 0) continue;
    numbers.push_back(some + first);
    pixels.push_back(bad.index_select(0, some));
  }
  if (numbers.empty()) return {at::empty({0}, at::kLong), at::Tensor()};
  return {at::cat(numbers), at::cat(pixels)};
}

/// Whether values from `from` on stand among light that is as bright, in a share of cases that
/// chance does not make.
bool among_their_kind(const at::Tensor& patterns, const Markers& markers, double largest) {
  std::int64_t all = 0, beside = 0;
  const Invalid found = invalid_in(patterns, markers);
  for (std::int64_t i = 0; i < found.patterns.size(0); ++i) {
    const at::Tensor pixels = found.pixels[i];
    const at::Tensor light = patterns[found.patterns[i].item<std::int64_t>()]
                                 .to(at::kDouble)
                                 .masked_fill(pixels.logical_or(markers.hidden), 0);
    const at::Tensor around = at::max_pool2d(light.unsqueeze(0).unsqueeze(0), {kWindow, kWindow},
                                             {1, 1}, {kWindow / 2, kWindow / 2})[0][0];
    const at::Tensor near = around.masked_select(pixels);
    all += near.numel();
    beside += near.ge(kFarAbove * largest).sum().item<std::int64_t>();
  }
  return static_cast<double>(beside) > kBesideItsKind * static_cast<double>(all);
}

/// The markers above all counts; from = infinity where there are none.
void find_top(const at::Tensor& patterns, double largest, Markers& markers) {
  if (!is_top_of_type(largest)) return;
  markers.from = just_below(largest);
  double next = 0;
  for (std::int64_t first = 0; first < patterns.size(0); first += kPatternsAtOnce) {
    const at::Tensor batch = patterns.slice(0, first, first + kPatternsAtOnce);
    const at::Tensor no_light = markers.in(batch).logical_or(markers.hidden);
    next = std::max(next, batch.masked_fill(no_light, 0).max().to(at::kDouble).item<double>());
  }
  if (next == 0 || (next >= kFarAbove * largest && among_their_kind(patterns, markers, largest)))
    markers.from = INFINITY;
}

/// Whether values below 0 are at most two whole numbers, in too few patterns for noise.
bool marks_below_zero(const at::Tensor& patterns, const at::Tensor& hidden) {
  std::vector<double> kinds;
  std::int64_t having = 0;
  for (std::int64_t first = 0; first < patterns.size(0); first += kPatternsAtOnce) {
    const at::Tensor batch =
        patterns.slice(0, first, first + kPatternsAtOnce).masked_fill(hidden, 0).to(at::kDouble);
    const at::Tensor below = batch.lt(0);
    having += below.flatten(1).any(1).sum().item<std::int64_t>();
    const at::Tensor unique = std::get<0>(at::_unique(batch.masked_select(below)));
    for (std::int64_t i = 0; i < unique.size(0); ++i) {
      const double kind = unique[i].item<double>();
      if (!std::isfinite(kind) || std::find(kinds.begin(), kinds.end(), kind) != kinds.end())
        continue;
      kinds.push_back(kind);
      if (kinds.size() > 2 || kind != std::round(kind)) return false;
    }
  }
  return static_cast<double>(having) < kNoisePatterns * static_cast<double>(patterns.size(0));
}

Markers markers_of(const RawScan& raw) {
  Markers markers{.hidden = raw.mask.logical_not()};
  const Range range = range_of(raw.patterns, markers.hidden);
  find_top(raw.patterns, range.largest, markers);
  markers.below_zero =
      range.least < 0 && !raw.clip_negative && marks_below_zero(raw.patterns, markers.hidden);
  const bool none = range.numbers && !std::isfinite(markers.from) && !markers.below_zero;
  return none ? Markers{} : markers;
}

double light_in(const at::Tensor& pattern, const at::Tensor& pixels) {
  return pattern.to(at::kDouble).masked_select(pixels).sum().item<double>();
}

/// The estimates of what a pattern misses.
class Estimating {
 public:
  Estimating(RawScan& raw, const Invalid& invalid) : raw_(raw), invalid_(invalid) {
    row_of_ = at::full({raw.patterns.size(0)}, -1, at::kLong);
    row_of_.index_copy_(0, invalid.patterns, at::arange(invalid.patterns.size(0), at::kLong));
    source_ = raw.patterns.index_select(0, invalid.patterns);  // as they were
    const at::Tensor known =
        source_.masked_select(invalid.pixels.logical_or(raw.mask.logical_not()).logical_not());
    whole_ = !known.is_floating_point() || at::equal(known, known.round());
  }

  /// Into raw.patterns; false where no other pattern has the values.
  bool fill(std::int64_t row) {
    const std::int64_t own = invalid_.patterns[row].item<std::int64_t>();
    const at::Tensor missing = invalid_.pixels[row];
    const at::Tensor away = (raw_.positions - raw_.positions[own]).square().sum(1);
    const at::Tensor order = away.argsort();
    at::Tensor sum = at::zeros(missing.sizes(), at::kDouble);
    double weights = 0;
    std::int64_t taken = 0;
    for (std::int64_t i = 0; i < order.size(0) && taken < kNeighbours; ++i) {
      const std::int64_t other = order[i].item<std::int64_t>();
      const at::Tensor bad = missing_in(other);
      if (other == own || bad.logical_and(missing).any().item<bool>()) continue;
      const at::Tensor both = raw_.mask.logical_and(bad.logical_or(missing).logical_not());
      const double light = light_in(as_it_was(other), both);
      if (light <= 0) continue;
      const double weight = 1 / std::max(away[other].item<double>(), 1e-12);
      sum += as_it_was(other).to(at::kDouble).masked_fill(bad, 0) *
             (weight * light_in(as_it_was(own), both) / light);
      weights += weight;
      ++taken;
    }
    at::Tensor pattern = raw_.patterns[own];
    if (taken == 0) {
      pattern.zero_();
      return false;
    }
    const at::Tensor estimate = sum / weights;
    pattern.copy_(
        at::where(missing, whole_ ? estimate.round() : estimate, pattern.to(at::kDouble)));
    return true;
  }

 private:
  at::Tensor missing_in(std::int64_t pattern) const {
    const std::int64_t row = row_of_[pattern].item<std::int64_t>();
    return row < 0 ? at::zeros_like(raw_.mask) : invalid_.pixels[row];
  }
  at::Tensor as_it_was(std::int64_t pattern) const {
    const std::int64_t row = row_of_[pattern].item<std::int64_t>();
    return row < 0 ? raw_.patterns[pattern] : source_[row];
  }

  RawScan& raw_;
  const Invalid& invalid_;
  at::Tensor row_of_, source_;
  bool whole_ = true;  // so are the estimates
};

/// The mean of up to 200 patterns that miss nothing, hidden pixels 0; undefined where all miss
/// some.
at::Tensor mean_of_whole(const RawScan& raw, const Invalid& invalid) {
  const at::Tensor whole =
      at::ones({raw.patterns.size(0)}, at::kBool).index_fill_(0, invalid.patterns, false);
  const at::Tensor all = at::nonzero(whole).flatten();
  if (all.size(0) == 0) return {};
  const at::Tensor rows = all.slice(0, 0, {}, std::max<std::int64_t>(1, all.size(0) / 200));
  return raw.patterns.index_select(0, rows)
      .to(at::kDouble)
      .mean(0)
      .masked_fill(raw.mask.logical_not(), 0);
}

/// Of the mean pattern's light what falls on each of some sets of pixels (k, rows, cols): (k); all
/// where no mean is known.
at::Tensor shares_of_light(const at::Tensor& mean, const at::Tensor& pixels) {
  if (!mean.defined()) return at::ones({pixels.size(0)}, at::kDouble);
  const at::Tensor light = (pixels.to(at::kDouble) * mean).flatten(1).sum(1);
  return light / std::max(mean.sum().item<double>(), 1e-300);
}

/// Masks pixels in all patterns where these are few and next to no light falls on them.
bool mask_few(RawScan& raw, const Invalid& invalid, const at::Tensor& mean) {
  const at::Tensor pixels = invalid.pixels.any(0);
  const bool few = pixels.sum().item<double>() <= kFewPixels * raw.mask.sum().item<double>() &&
                   shares_of_light(mean, pixels.unsqueeze(0)).item<double>() <= kLittleLight;
  if (!few) return false;
  warn("{}: {} pixels hold no count in {} of {} patterns: they are masked in all",
       raw.patterns_name, pixels.sum().item<std::int64_t>(), invalid.patterns.size(0),
       raw.patterns.size(0));
  raw.mask = raw.mask.logical_and(pixels.logical_not());
  raw.patterns = raw.patterns.masked_fill(pixels, 0);
  return true;
}

/// Empties patterns that miss too much; the others stay in `invalid`.
void empty_some(RawScan& raw, Invalid& invalid, const at::Tensor& mean) {
  const at::Tensor missing =
      invalid.pixels.flatten(1).sum(1).to(at::kDouble) / raw.mask.sum().item<double>();
  const at::Tensor hopeless = missing.gt(kMostInvalid);
  at::Tensor out = hopeless.logical_or(shares_of_light(mean, invalid.pixels).gt(kLittleLight));
  const double most = kMostLeftOut * static_cast<double>(raw.patterns.size(0));
  if (out.sum().item<double>() > most) out = hopeless;
  const at::Tensor rows = at::nonzero(out).flatten();
  if (rows.size(0) == 0) return;
  warn(
      "{}: {} of {} patterns hold no count where light falls (no number, a type's largest value or "
      "less than 0): they are emptied and left out",
      raw.patterns_name, rows.size(0), raw.patterns.size(0));
  raw.patterns.index_fill_(0, invalid.patterns.index_select(0, rows), 0);
  const at::Tensor others = at::nonzero(out.logical_not()).flatten();
  invalid = {invalid.patterns.index_select(0, others), invalid.pixels.index_select(0, others)};
}

void estimate(RawScan& raw, const Invalid& invalid) {
  Estimating estimating(raw, invalid);
  std::int64_t alone = 0;
  for (std::int64_t row = 0; row < invalid.patterns.size(0); ++row)
    alone += estimating.fill(row) ? 0 : 1;
  const double pixels =
      invalid.pixels.sum().item<double>() / static_cast<double>(invalid.patterns.size(0));
  warn(
      "{}: {} of {} patterns hold no count in some pixels ({:.3g} in the mean: no number, a type's "
      "largest value or less than 0); these are estimated from the nearest patterns that have "
      "them{}",
      raw.patterns_name, invalid.patterns.size(0), raw.patterns.size(0), pixels,
      alone > 0 ? fmt::format(", {} that have none are left empty", alone) : "");
}

}  // namespace

void settle_invalid_pixels(RawScan& raw, const ReadingTogether& together) {
  if (raw.patterns.size(0) < 2) return;
  const Markers markers = markers_of(raw);
  const at::Tensor none = in_all_processes(together, at::full({1}, !markers.hidden.defined()));
  if (none.item<bool>()) return;
  if (together.several()) throw PartsDiffer();
  Invalid invalid = invalid_in(raw.patterns, markers);
  raw.in_memory_file = false;
  raw.patterns = raw.patterns.clone();
  const at::Tensor mean = mean_of_whole(raw, invalid);
  if (mask_few(raw, invalid, mean)) return;
  empty_some(raw, invalid, mean);
  if (invalid.patterns.size(0) > 0) estimate(raw, invalid);
}

}  // namespace ptyche
