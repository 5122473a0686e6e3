#include "ptyche/io/counts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/core/random.h"
#include "ptyche/io/invalid_pixels.h"
#include "ptyche/io/pattern_values.h"
#include "ptyche/io/readout_noise.h"

namespace ptyche {
namespace {

/// A reason to read counts, and what speaks against it.
std::string counts_because(const std::string& reason, const RawScan& raw) {
  if (raw.patterns_name != "diff3d") return reason;
  return reason +
         ", although diff3d means amplitude in PtychoPINN's files; if they are, "
         "--domain amplitude squares them";
}

/// Of values that are not all finite.
std::string range_text(const at::Tensor& values) {
  const at::Tensor known = values.masked_select(at::isfinite(values));
  if (known.numel() == 0) return "NaN or infinite";
  const double least = known.min().item<double>(), most = known.max().item<double>();
  return least == most ? fmt::format("{:.0f}", most) : fmt::format("{:.6g} to {:.6g}", least, most);
}

constexpr double kMostPhotons = 1e15;  // of a pixel: no detector counts more
constexpr std::int64_t kFramesPerBatch = 32;
/// Calls `visit(first, batch)` with consecutive views of the patterns.
template <typename Visit>
void for_batches(const at::Tensor& patterns, const Visit& visit) {
  for (std::int64_t first = 0; first < patterns.size(0); first += kFramesPerBatch) {
    const std::int64_t length = std::min(kFramesPerBatch, patterns.size(0) - first);
    visit(first, patterns.narrow(0, first, length));
  }
}

at::Tensor invalid(const at::Tensor& values) {
  const at::Tensor negative = values.lt(0);
  return values.is_floating_point() ? negative.logical_or_(at::isfinite(values).logical_not())
                                    : negative;
}

/// Whether the patterns' own type can hold their ceiling: a tensor of unsigned numbers that are all
/// small has the signed type of as many bits.
bool can_hold_ceiling(const at::Tensor& patterns, double ceiling) {
  if (patterns.is_floating_point()) return true;
  const double largest =
      patterns.scalar_type() == at::kByte
          ? 255
          : integer_ceiling(static_cast<std::int64_t>(patterns.element_size()), true);
  return ceiling <= largest;
}

/// Where a batch stands at the ceiling, bool. Compared as integers where it is one: half the time.
at::Tensor at_ceiling(const at::Tensor& batch, double ceiling) {
  const bool as_double = batch.is_floating_point() || ceiling > 9e18;  // beyond int64
  return as_double ? batch.to(at::kDouble).eq(ceiling)
                   : batch.eq(static_cast<std::int64_t>(ceiling));
}

/// What programs leave in gaps of a stack that has another type than the detector's: the largest
/// values of 16, 31 and 32 bits, the last as float32 rounds it.
constexpr std::array<double, 4> kOfOtherTypes{65535, 2147483647, 4294967295, 4294967296};

/// Where a batch holds what is no count: the ceiling, another type's, less than nothing, no number.
at::Tensor no_counts(const RawScan& raw, const at::Tensor& batch) {
  at::Tensor none = invalid(batch);
  if (raw.ceiling > 0 && can_hold_ceiling(batch, raw.ceiling))
    none.logical_or_(at_ceiling(batch, raw.ceiling));
  for (const double largest : kOfOtherTypes)
    if (largest != raw.ceiling && can_hold_ceiling(batch, largest))
      none.logical_or_(at_ceiling(batch, largest));
  return none;
}

/// Counted pixels that hold no counts in any of the patterns, (rows, cols) bool.
at::Tensor blind_pixels(const RawScan& raw) {
  at::Tensor blind = raw.mask.clone();
  for_batches(raw.patterns, [&](std::int64_t first, const at::Tensor& batch) {
    if (first == 0 || blind.any().item<bool>()) blind.logical_and_(no_counts(raw, batch).all(0));
  });
  return blind;
}

/// Detectors, and what reads them, write a value that is no count into gaps and dead pixels.
void mask_blind_pixels(RawScan& raw, const ReadingTogether& together) {
  if (raw.positions.size(0) < 2) return;
  const at::Tensor blind = in_all_processes(together, blind_pixels(raw));
  const auto number = blind.sum().item<std::int64_t>();
  if (number == 0) return;
  const at::Tensor values = raw.patterns.slice(0, 0, 1).masked_select(blind).to(at::kDouble);
  warn(
      "{}: {} pixels hold no counts in any pattern ({} in the first one), but a type's largest "
      "value, less than 0 or no number; they are masked",
      raw.patterns_name, number, range_text(values));
  raw.mask = raw.mask.logical_and(blind.logical_not());
  for (const double largest : kOfOtherTypes)  // then that is what hidden pixels do not keep
    if (values.eq(largest).any().item<bool>()) raw.ceiling = largest;
  require(raw.mask.any().item<bool>(), "{}: expected counts, found none in any pixel",
          raw.patterns_name);
}

ValueRules rules_of(const RawScan& raw) {
  const bool has_ceiling = raw.ceiling > 0 && can_hold_ceiling(raw.patterns, raw.ceiling);
  return {raw.mask.contiguous(), has_ceiling ? raw.ceiling : -1};
}

/// Says how many counted pixels are invalid, and where the first one is.
[[noreturn]] void refuse_invalid(const RawScan& raw) {
  const auto number_of = [&](std::int64_t pattern) {
    return raw.part.defined() ? raw.part[pattern].item<std::int64_t>() : pattern;
  };
  std::int64_t number = 0, negative = 0, first_frame = -1, patterns = 0;
  for_batches(raw.patterns, [&](std::int64_t first, const at::Tensor& batch) {
    const at::Tensor counted = invalid(batch).logical_and(raw.mask);
    const auto here = counted.sum().item<std::int64_t>();
    number += here;
    patterns += counted.flatten(1).any(1).sum().item<std::int64_t>();
    negative += counted.logical_and(batch.lt(0)).sum().item<std::int64_t>();
    if (here > 0 && first_frame < 0)
      first_frame = first + at::nonzero(counted.flatten(1).any(1))[0].item<std::int64_t>();
  });
  throw InvalidInput(fmt::format(
      "{}: expected finite values >= 0, found {} NaN, infinite or negative values ({} negative), "
      "the first in pattern {}, in {} of {} patterns; --frames leaves patterns out, --mask FILE "
      "pixels",
      raw.patterns_name, number, negative, number_of(first_frame), patterns, raw.patterns.size(0)));
}

}  // namespace

DomainChoice choose_domain(const std::string& wanted, const RawScan& raw, const ValueKind& kind) {
  if (wanted == "counts") return {Domain::counts, "--domain", false};
  if (wanted == "amplitude") return {Domain::amplitude, "--domain", false};
  if (raw.domain != Domain::unknown) return {raw.domain, raw.domain_reason, false};
  if (!raw.patterns.is_floating_point() && raw.narrowed == Narrowed::no) {
    return {Domain::counts, counts_because("the file's type is an integer", raw), true};
  }
  if (kind.whole)
    return {Domain::counts, counts_because("all values are whole numbers", raw), true};
  if (kind.whole_squares) {
    return {Domain::amplitude, "the squares, not the values, are whole numbers", true};
  }
  if (kind.noise == NoiseOf::counts)
    return {Domain::counts, counts_because("the values vary as photon counts do", raw), true};
  if (kind.noise == NoiseOf::roots)
    return {Domain::amplitude, "the squares of the values vary as photon counts do", true};
  return {Domain::amplitude,
          "neither values nor squares are whole numbers, and " + raw.patterns_name +
              " means amplitude in PtychoPINN's files",
          true};
}

namespace {

DomainChoice settle_domain(const RawScan& raw, const ReadOptions& options, const ValueKind& kind) {
  DomainChoice choice = choose_domain(options.domain, raw, kind);
  if (choice.guessed)
    note("{} is read as {}: {} (--domain counts|amplitude decides otherwise)", raw.patterns_name,
         choice.domain == Domain::amplitude ? "amplitude" : "counts", choice.reason);
  return choice;
}

}  // namespace

namespace {

/// Of values that may be those of a detector that does not count: neither amplitudes nor fractions
/// that may be amplitudes.
std::optional<ReadoutNoise> noise_of(const RawScan& raw, const ReadOptions& options) {
  if (options.domain == "amplitude" || raw.domain == Domain::amplitude) return std::nullopt;
  const bool whole = !raw.patterns.is_floating_point() || raw.narrowed != Narrowed::no;
  const bool may_be_roots = !whole && raw.domain == Domain::unknown && options.domain != "counts";
  // Whole numbers of 0 and more that were said to be counts stay what they are, and those of shadow
  // images, whose transforms are empty nowhere.
  const bool near_field = options.near_field || raw.geometry.near_field;
  const bool said = whole && (options.domain == "counts" || near_field);
  if ((may_be_roots || said) && raw.patterns.min().to(at::kDouble).item<double>() >= 0)
    return std::nullopt;
  return readout_noise(raw.patterns, raw.mask, whole);
}

/// Values of a detector that does not count become photons.
void take_out_noise(RawScan& raw, const ReadOptions& options, const ReadingTogether& together) {
  const std::optional<ReadoutNoise> found = noise_of(raw, options);
  const at::Tensor none = in_all_processes(together, at::full({1}, !found, at::kBool));
  if (together.several() && !none.item<bool>()) throw PartsDiffer();
  if (!found) return;
  say({.kind = Remark::Kind::correction,
       .text = fmt::format("{}: of a detector that does not count: a photon is {:.3g}, pixels "
                           "without light stand at {:.3g} and vary by {:.3g}; the values become "
                           "photons",
                           raw.patterns_name, found->gain, found->level, found->noise),
       .cause = "values: read-out noise",
       .before = "values of the detector",
       .after = fmt::format("photons: (value - {:.3g}) / {:.3g}", found->level, found->gain)});
  raw.patterns = photons_of(raw.patterns, raw.mask, *found);
  raw.domain = Domain::counts;
  raw.domain_reason = "the values were those of a detector that does not count";
  raw.narrowed = Narrowed::no;
  raw.in_memory_file = false;
  raw.ceiling = 0;
}

/// What it is in the parts of all processes.
NoiseOf noise_in_all(const RawScan& raw, const ReadingTogether& together) {
  const NoiseOf own = noise_of_fractions(raw.patterns, raw.mask);
  at::Tensor is = at::zeros({2}, at::kBool);
  is[0] = own == NoiseOf::counts;
  is[1] = own == NoiseOf::roots;
  const at::Tensor all = in_all_processes(together, is);
  if (all[0].item<bool>()) return NoiseOf::counts;
  return all[1].item<bool>() ? NoiseOf::roots : NoiseOf::unknown;
}

void clip_negative(RawScan& raw) {
  if (!raw.clip_negative || raw.patterns.min().to(at::kDouble).item<double>() >= 0) return;
  const at::Tensor below = raw.patterns.lt(0);
  const double share = below.sum(at::kDouble).item<double>() / static_cast<double>(below.numel());
  note("{:.2g} % of the values are below zero, noise of the detector: set to zero", 100 * share);
  raw.patterns = raw.patterns.masked_fill(below, 0);
}

}  // namespace

Counts take_counts(RawScan& raw, const ReadOptions& options, const ReadingTogether& together) {
  if (raw.narrowed == Narrowed::squares) {
    settle_domain(raw, options, {.whole = false, .whole_squares = true});
    return {of_one_type(together, std::exchange(raw.patterns, at::Tensor()).contiguous()), true};
  }
  mask_blind_pixels(raw, together);
  settle_invalid_pixels(raw, together);
  take_out_noise(raw, options, together);
  clip_negative(raw);
  raw.patterns = raw.patterns.contiguous();
  const ValueRules rules = rules_of(raw);
  const bool may_be_roots = raw.patterns.is_floating_point() && raw.domain != Domain::counts;
  const ValueSurvey own =
      survey(raw.patterns, rules, may_be_roots || options.domain == "amplitude");
  if (!own.valid) refuse_invalid(raw);
  const ValueSurvey values = of_all_processes(together, own);
  ValueKind kind{values.whole, values.are_roots()};
  const bool fractions = may_be_roots && !kind.whole && !kind.whole_squares;
  if (fractions && raw.domain == Domain::unknown && options.domain == "auto")
    kind.noise = noise_in_all(raw, together);
  const DomainChoice choice = settle_domain(raw, options, kind);
  const bool amplitude = choice.domain == Domain::amplitude;
  if (amplitude) raw.ceiling = 0;  // it was that of the amplitudes
  require(
      amplitude || values.largest <= kMostPhotons,
      "{}: expected counts of at most {:g} photons, found {:g}: they are in another unit, or no "
      "counts (--domain amplitude)",
      raw.patterns_name, kMostPhotons, values.largest);
  const CountRules how = count_rules(values, amplitude);
  const bool no_wider = raw.patterns.scalar_type() == how.type || raw.in_memory_file;
  const bool as_it_is = !amplitude && !values.cleared && no_wider;
  const bool in_photons = kind.noise == NoiseOf::roots;
  const bool scale_is_given = options.nphotons > 0 || raw.nphotons > 0;
  Counts counts{as_it_is ? raw.patterns : converted(raw.patterns, rules, how),
                !amplitude || kind.whole_squares || (in_photons && !scale_is_given), amplitude,
                choice.guessed && fractions};
  raw.patterns = at::Tensor();
  return counts;
}

// What each pattern may be used for.

namespace {

constexpr double kSaturatedAbove = 20;  ///< times the median counts
constexpr double kSamePosition_px = 1e-6;

/// Of every pattern: its counts in counted pixels, and how many of these stand at the ceiling.
struct FrameSums {
  at::Tensor counts, at_ceiling;  // (n) float64
};

std::vector<std::int64_t> numbers_of(const at::Tensor& flags) {
  const at::Tensor frames = at::nonzero(flags).flatten();
  return {frames.const_data_ptr<std::int64_t>(),
          frames.const_data_ptr<std::int64_t>() + frames.numel()};
}

std::string first_ten(const std::vector<std::int64_t>& frames) {
  if (frames.size() <= 10) return fmt::format("{}", fmt::join(frames, ", "));
  return fmt::format("{} and {} more", fmt::join(frames.begin(), frames.begin() + 10, ", "),
                     frames.size() - 10);
}

/// Flags of the patterns that are left out, with the one warning that lists them.
at::Tensor rejected_frames(const FrameSums& sums, double ceiling, std::int64_t pixels) {
  const double median = usual_sum(sums.counts);
  const double brightest = sums.counts.max().item<double>();
  require(
      brightest > 0,
      "patterns: expected photons in the counted pixels, found all {} patterns zero; is the mask "
      "inverted (true = counted; --mask none counts all)?",
      sums.counts.size(0));
  const at::Tensor dark = sums.counts.lt(kDarkBelow * median).logical_or(sums.counts.le(0));
  at::Tensor saturated = sums.counts.gt(kSaturatedAbove * median);
  if (median <= 0) saturated = at::zeros_like(saturated);
  const double several = std::max(4.0, static_cast<double>(pixels) / 1000);
  if (ceiling > 0) saturated = saturated.logical_or(sums.at_ceiling.ge(several));
  const at::Tensor rejected = dark.logical_or(saturated);
  const auto number = rejected.sum().item<std::int64_t>();
  if (number == 0) return rejected;
  std::string list;
  if (dark.any().item<bool>()) list = "; dark: " + first_ten(numbers_of(dark));
  if (saturated.any().item<bool>()) list += "; saturated: " + first_ten(numbers_of(saturated));
  warn("{} of {} patterns are left out{}", number, sums.counts.size(0), list);
  return rejected;
}

std::vector<std::int64_t> listed_frames(const std::string& file, std::int64_t frames) {
  constexpr std::int64_t kLargestList = 32 << 20;  // a few million numbers
  constexpr int kDeepest = 64;
  const std::string text = read_bytes(file, kLargestList);
  require_shallow(text, file, kDeepest);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  require(!json.is_discarded(), "{}: expected JSON, found something else", file);
  require(
      json.is_object() && json.contains("heldout_indices") && json["heldout_indices"].is_array(),
      "{}: expected an object with a list heldout_indices, found none", file);
  std::vector<std::int64_t> list;
  for (const auto& entry : json["heldout_indices"]) {
    const bool fits = entry.is_number_integer() && entry >= 0 && entry < frames;
    require(fits, "{}: heldout_indices: expected pattern numbers 0 to {}, found {}", file,
            frames - 1, entry.dump());
    list.push_back(entry.get<std::int64_t>());
  }
  return list;
}

/// How many of `n` usable patterns are to be held out.
std::int64_t wanted_of(std::int64_t n, const std::optional<double>& fraction) {
  if (!fraction) return automatic_hold_out(n);
  return std::max<std::int64_t>(std::llround(*fraction * static_cast<double>(n)), 1);
}

/// A part of the usable patterns, drawn without replacement.
std::vector<std::int64_t> drawn_frames(const at::Tensor& use, const std::optional<double>& fraction,
                                       std::uint64_t seed) {
  const at::Tensor usable = at::nonzero(use.eq(0)).flatten();
  const std::int64_t n = usable.size(0), wanted = wanted_of(n, fraction);
  if (wanted == 0)
    note("none of {} patterns is held out: fewer than {} (--hold-out sets a share)", n,
         kEnoughToHoldOut);
  const auto order = permutation(n, RandomStream(seed, Purpose::hold_out));
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < wanted && i < n; ++i) {
    list.push_back(usable[order[static_cast<std::size_t>(i)]].item<std::int64_t>());
  }
  return list;
}

/// Gives `to` to those of the listed patterns that are still in use.
void change_use(at::Tensor& use, const at::Tensor& chosen, FrameUse to) {
  use.masked_fill_(chosen.logical_and(use.eq(0)), static_cast<std::int64_t>(to));
}

at::Tensor flags_of(const std::vector<std::int64_t>& frames, std::int64_t n) {
  at::Tensor flags = at::zeros({n}, at::kBool);
  for (const std::int64_t frame : frames) flags[frame] = true;
  return flags;
}

void hold_out(at::Tensor& use, const ReadOptions& options) {
  const bool from_file = !options.hold_out_file.empty();
  require(!(from_file && options.hold_out.value_or(0) > 0),
          "expected --hold-out or --hold-out-file, found {}", "both");
  if (!from_file && options.hold_out == 0.0) return;
  const auto frames = from_file ? listed_frames(options.hold_out_file, use.size(0))
                                : drawn_frames(use, options.hold_out, options.seed);
  change_use(use, flags_of(frames, use.size(0)), FrameUse::held_out);
}

/// Rows grow downwards: the upper half is row <= median.
void keep_half_unseen(at::Tensor& use, const at::Tensor& positions, const std::string& half) {
  if (half == "none") return;
  const at::Tensor rows = positions.select(1, 0).contiguous();
  const at::Tensor upper = rows.le(at::quantile(rows, 0.5));
  change_use(use, half == "upper" ? upper : upper.logical_not(), FrameUse::unseen);
}

void require_usable(const at::Tensor& use, const at::Tensor& positions) {
  const at::Tensor used = at::nonzero(use.eq(0)).flatten();
  require(used.size(0) >= 2, "patterns: expected at least 2 usable ones, found {} of {}",
          used.size(0), use.size(0));
  const at::Tensor places = positions.index_select(0, used);
  const double extent = (places.amax(0) - places.amin(0)).max().item<double>();
  require(extent > kSamePosition_px,
          "positions: expected patterns at different positions, found all {} at row {}, col {}",
          used.size(0), places[0][0].item<double>(), places[0][1].item<double>());
}

}  // namespace

std::int64_t automatic_hold_out(std::int64_t usable) {
  return usable < kEnoughToHoldOut ? 0 : std::max(kFewestHeldOut, (usable + 10) / 20);
}

at::Tensor choose_frames(const at::Tensor& sums, std::int64_t pixels, const at::Tensor& positions,
                         double ceiling, const ReadOptions& options) {
  const std::int64_t n = sums.size(0);
  require(n >= 2, "patterns: expected at least 2, found {}", n);
  const FrameSums of_each{sums.select(1, 0).contiguous(), sums.select(1, 1).contiguous()};
  at::Tensor use = at::zeros({n}, at::kByte);
  change_use(use, rejected_frames(of_each, ceiling, pixels), FrameUse::rejected);
  hold_out(use, options);
  keep_half_unseen(use, positions, options.unseen_half);
  require_usable(use, positions);
  return use;
}

}  // namespace ptyche
