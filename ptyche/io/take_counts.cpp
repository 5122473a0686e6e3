#include <algorithm>
#include <cmath>
#include <limits>

#include "ptyche/core/error.h"
#include "ptyche/core/log.h"
#include "ptyche/io/domain.h"
#include "ptyche/io/prepare.h"

namespace ptyche {
namespace {

constexpr std::int64_t kFramesPerBatch = 32;
/// Squares of exact roots come back this close to whole numbers (DESIGN: "One scale contract").
constexpr double kWholeWithin = 1e-3;
/// The square of a float32 root is off by up to 2^-23 of itself, more than that for large counts.
constexpr double kFloat32Rounding = 1.5e-7;

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

/// A detector writes its type's largest value into its gaps: such pixels hold no counts.
void mask_blind_pixels(RawScan& raw) {
  if (raw.ceiling <= 0 || raw.frames() < 2) return;
  at::Tensor blind = raw.mask.clone();
  for_batches(raw.patterns, [&](std::int64_t, const at::Tensor& batch) {
    blind.logical_and_(batch.to(at::kDouble).eq(raw.ceiling).all(0));
  });
  const auto number = blind.sum().item<std::int64_t>();
  if (number == 0) return;
  warn("{}: {} pixels hold {:.0f}, the type's largest value, in every pattern; they are masked",
       raw.patterns_name, number, raw.ceiling);
  raw.mask = raw.mask.logical_and(blind.logical_not());
}

/// Whatever the mask hides at the type's largest value was not counted either.
void clear_blind_pixels(RawScan& raw) {
  if (raw.ceiling <= 0) return;
  const at::Tensor hidden = raw.mask.logical_not();
  if (!hidden.any().item<bool>()) return;
  for_batches(raw.patterns, [&](std::int64_t, at::Tensor batch) {
    batch.masked_fill_(batch.to(at::kDouble).eq(raw.ceiling).logical_and_(hidden), 0);
  });
}

/// Throws unless all counted pixels are valid; clears the invalid ones among the others.
void settle_invalid_pixels(RawScan& raw) {
  std::int64_t number = 0, negative = 0, first_frame = -1;
  for_batches(raw.patterns, [&](std::int64_t first, at::Tensor batch) {
    const at::Tensor bad = invalid(batch);
    if (!bad.any().item<bool>()) return;
    const at::Tensor counted = bad.logical_and(raw.mask);
    const auto here = counted.sum().item<std::int64_t>();
    number += here;
    negative += counted.logical_and(batch.lt(0)).sum().item<std::int64_t>();
    if (here > 0 && first_frame < 0) {
      first_frame = first + at::nonzero(counted.flatten(1).any(1))[0].item<std::int64_t>();
    }
    batch.masked_fill_(bad, 0);
  });
  require(
      number == 0,
      "{}: expected finite values >= 0, found {} NaN, infinite or negative values ({} negative), "
      "the first in pattern {}; detector gaps can be left out with --mask FILE",
      raw.patterns_name, number, negative, first_frame);
}

bool all_near_whole(const at::Tensor& squares) {
  const at::Tensor off = (squares - squares.round()).abs();
  return off.le(squares.mul(kFloat32Rounding).clamp_min(kWholeWithin)).all().item<bool>();
}

ValueKind kind_of(const RawScan& raw) {
  ValueKind kind;
  if (!raw.patterns.is_floating_point()) return kind;
  for_batches(raw.patterns, [&](std::int64_t, const at::Tensor& batch) {
    if (!kind.whole && !kind.whole_squares) return;
    const at::Tensor values = batch.to(at::kDouble).mul(raw.mask);
    kind.whole = kind.whole && at::equal(values, values.round());
    kind.whole_squares = kind.whole_squares && all_near_whole(values.square());
  });
  return kind;
}

/// Squares in place, batch by batch. Integers become float64 first, which holds their squares.
void square_patterns(RawScan& raw, bool whole) {
  if (!raw.patterns.is_floating_point()) raw.patterns = raw.patterns.to(at::kDouble);
  for_batches(raw.patterns, [&](std::int64_t, at::Tensor batch) {
    const at::Tensor squares = batch.to(at::kDouble).square();
    batch.copy_(whole ? squares.round() : squares);
  });
  raw.ceiling = 0;  // it was that of the amplitudes
}

}  // namespace

Counts take_counts(RawScan& raw, const ReadOptions& options) {
  mask_blind_pixels(raw);
  clear_blind_pixels(raw);
  settle_invalid_pixels(raw);
  const ValueKind kind = kind_of(raw);
  const DomainChoice choice = choose_domain(options.domain, raw, kind);
  const bool amplitude = choice.domain == Domain::amplitude;
  if (choice.guessed) {
    note("{} is read as {}: {} (--domain counts|amplitude decides otherwise)", raw.patterns_name,
         amplitude ? "amplitude" : "counts", choice.reason);
  }
  if (amplitude) square_patterns(raw, kind.whole_squares);
  Counts counts{in_smallest_exact_type(raw.patterns), !amplitude || kind.whole_squares};
  raw.patterns = at::Tensor();
  return counts;
}

}  // namespace ptyche
