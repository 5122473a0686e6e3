// Are the values of the patterns photon counts, or roots, squares or logarithms of them; are they
// cut off or wrapped.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "ptyche/io/pattern_values.h"
#include "ptyche/prepare/judge.h"

namespace ptyche {
namespace {

// Share of weak values that are whole multiples of the smallest: 1.0 for the right transform | <=
// .78 for another.
constexpr double kWholeShare = 0.999;
constexpr std::int64_t kValuesAsked = 400000;
constexpr std::int64_t kFewestValues = 50;
constexpr std::int64_t kPatternsAsked = 50;
// The share of whole numbers is .08 by chance.
constexpr double kNormalised = 0.9;
// Values at the largest one over those in the fifth below it: <= .29 | .97 .. 60 (cut at 100
// counts).
constexpr double kClipRatio = 0.7;
constexpr std::int64_t kClipCount = 20;
constexpr double kClipFrames = 0.1;  // share of patterns that hold the largest value

using Way = ChangeValues::Way;

/// Positive values of some counted pixels, float64.
at::Tensor asked_values(const Patterns& patterns) {
  const at::Tensor all = patterns.counts.flatten();
  const std::int64_t stride = std::max<std::int64_t>(all.numel() / (4 * kValuesAsked), 1);
  const std::int64_t frames = (patterns.size() + stride - 1) / stride;
  const at::Tensor some = patterns.counts.slice(0, 0, patterns.size(), patterns.size() / frames);
  return some.masked_select(some.gt(0))
      .to(at::kDouble)
      .narrow(0, 0, std::min(kValuesAsked, some.gt(0).sum().item<std::int64_t>()));
}

double share(const at::Tensor& flags) { return flags.to(at::kDouble).mean().item<double>(); }

/// Positive whole numbers: what is next to nothing is none.
double share_of_whole(const at::Tensor& values) {
  return share((values - values.round()).abs().lt(1e-3).logical_and(values.gt(0.5)));
}

bool are_whole(const at::Tensor& values) { return share_of_whole(values) > kWholeShare; }

/// The largest whole number that all of these divide by.
std::int64_t common_divisor(const at::Tensor& whole) {
  const at::Tensor numbers = whole.round().to(at::kLong).contiguous();
  const auto* number = numbers.const_data_ptr<std::int64_t>();
  std::int64_t common = 0;
  for (std::int64_t i = 0; i < numbers.numel() && common != 1; ++i)
    common = std::gcd(common, number[i]);
  return common;
}

/// Whether the numbers below 40 are whole, but for a share, and not all the same.
bool are_counts(const at::Tensor& numbers, double whole_share = kWholeShare) {
  const at::Tensor weak = numbers.masked_select(numbers.lt(40));
  if (weak.size(0) <= kFewestValues) return false;
  if (share(weak.lt(1.01 * weak.min())) >= 0.98) return false;
  const at::Tensor near = (weak - weak.round()).abs().lt(2e-3 * weak.clamp_min(1));
  return share(near.logical_and(weak.gt(0.5))) > whole_share;
}

at::Tensor undone(const at::Tensor& x, Way way) {
  switch (way) {
    case Way::scale:
      return x;
    case Way::square:
      return x.square();
    case Way::root:
      return x.sqrt();
    case Way::power:
      return at::exp2(x.clamp_max(60)) - 1;
    case Way::power_of_root:
      return at::exp2(x.sqrt().clamp_max(60)) - 1;
    case Way::each_pattern:
      break;
  }
  return x;
}

struct Reading {
  Way way;
  const char* cause;
  const char* what;
};
constexpr Reading kReadings[] = {
    {Way::scale, "values: scaled counts", "are divided by it: they are photons times a factor"},
    {Way::square, "values: amplitudes", "are squared: they are amplitudes, taken for counts"},
    {Way::root, "values: counts squared", "become their roots: counts were taken for amplitudes"},
    {Way::power, "values: logarithms", "are raised: they are logarithms of 1 + counts"},
    {Way::power_of_root, "values: logarithms",
     "are raised: they are logarithms of 1 + counts, squared in reading"}};

/// What the value of a single photon can be: the smallest value, or where no pixel has one photon,
/// that of the transform itself.
std::vector<double> units_of(Way way, double smallest) {
  switch (way) {
    case Way::scale:
      return {smallest};
    case Way::power:
      return {smallest, std::log(2.0), std::log10(2.0)};
    default:
      return {smallest, 1};
  }
}

/// Whether patterns hold whole multiples of a value of their own: of one photon, but for a few that
/// have no pixel with one.
bool are_normalised(const Patterns& patterns) {
  const std::int64_t every = std::max<std::int64_t>(patterns.size() / kPatternsAsked, 1);
  const at::Tensor some = patterns.counts.slice(0, 0, {}, every).to(at::kDouble);
  return are_counts((some / smallest_of_each(some)).masked_select(some.gt(0)), kNormalised);
}

}  // namespace

void judge_transform(Diagnosis& diagnosis, const Patterns& patterns,
                     const ExamineOptions& options) {
  const at::Tensor values = asked_values(patterns);
  if (values.size(0) <= kFewestValues) return;
  diagnosis.numbers["values_whole"] = share_of_whole(values);
  if (are_whole(values)) {
    if (are_squares_of_counts(values))
      diagnosis.mend(
          "values: counts squared",
          "all counts are squares of whole numbers: counts were taken for amplitudes, and "
          "their roots are taken (--domain amplitude says otherwise)",
          ChangeValues{Way::root, 1}, options, {"domain"});
    else if (const std::int64_t unit = common_divisor(values);
             unit > 1 && are_counts(values / static_cast<double>(unit)))
      diagnosis.mend("values: scaled counts",
                     fmt::format("all values are multiples of {0}: a photon counts {0}, and they "
                                 "are divided by it (--mean-counts N says otherwise)",
                                 unit),
                     ChangeValues{Way::scale, static_cast<double>(unit)}, options, {"mean-counts"});
    return;
  }
  for (const Reading& reading : kReadings)
    for (const double unit : units_of(reading.way, values.min().item<double>())) {
      if (!are_counts(undone(values / unit, reading.way))) continue;
      const bool scaled = reading.way == Way::scale;
      return diagnosis.mend(
          reading.cause,
          fmt::format("the values are whole multiples of {:.4g} only if they {} (--{} says "
                      "otherwise)",
                      unit, reading.what, scaled ? "mean-counts N" : "domain counts"),
          ChangeValues{reading.way, unit}, options, {scaled ? "mean-counts" : "domain"});
    }
  if (are_normalised(patterns))
    return diagnosis.mend("values: normalised pattern by pattern",
                          "the values of each pattern are whole multiples of its smallest one, "
                          "another one in each: patterns were divided by their totals or the like; "
                          "the whole numbers are taken (--mean-counts N says otherwise)",
                          ChangeValues{Way::each_pattern, 1}, options, {"mean-counts"});
  diagnosis.say(Level::note, "values: no whole counts",
                "the values are no whole multiples of one another, so that counts and amplitudes "
                "cannot be told apart by them (--domain counts|amplitude)");
}

namespace {

void judge_clipping(Diagnosis& diagnosis, const at::Tensor& counts, float top) {
  const at::Tensor at_top = counts.eq(top);
  const auto number = at_top.sum().item<std::int64_t>();
  const auto below = counts.ge(std::min(0.8f * top, top - 1)).sum().item<std::int64_t>() - number;
  const double ratio = static_cast<double>(number) / static_cast<double>(below + 1);
  diagnosis.numbers["clip"] = ratio;
  if (number <= kClipCount || ratio <= kClipRatio || share(at_top.flatten(1).any(1)) <= kClipFrames)
    return;
  diagnosis.say(Level::warn, "values: clipped",
                fmt::format("{} values stand at the largest one, {:.0f}, and only {} in the fifth "
                            "below it: the detector, or what wrote the file, cuts them off there",
                            number, top, below));
}

void judge_wrapping(Diagnosis& diagnosis, const at::Tensor& counts) {
  if (const auto found = wrapped_values(counts))
    diagnosis.say(Level::refuse, "values: wrapped",
                  fmt::format("values beside the largest ones drop to nothing {} times: they "
                              "were stored modulo {:.0f}, and the counts cannot be had back",
                              found->jumps, found->period));
}

}  // namespace

void judge_limits(Diagnosis& diagnosis, const Patterns& patterns) {
  const auto whole = diagnosis.numbers.find("values_whole");
  if (whole == diagnosis.numbers.end() || whole->second <= kWholeShare) return;
  const auto top = patterns.counts.max().item<float>();
  judge_clipping(diagnosis, patterns.counts, top);
  judge_wrapping(diagnosis, patterns.counts);
}

}  // namespace ptyche
