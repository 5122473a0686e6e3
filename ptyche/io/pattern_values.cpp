#include "ptyche/io/pattern_values.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <type_traits>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/wide_registers.h"
#include "ptyche/data/array.h"

namespace ptyche {
namespace {

// Added and taken off, it rounds a double below 2^51 to the nearest whole number.
constexpr double kRounder = 6755399441055744.0;  // 1.5 * 2^52

inline double rounded(double value) { return (value + kRounder) - kRounder; }

/// 1 where a pixel is counted, else 0.
const std::uint8_t* mask_bytes(const at::Tensor& mask) {
  return reinterpret_cast<const std::uint8_t*>(mask.const_data_ptr<bool>());
}

/// A value as the integer of its bits: counts compare alike, and the compiler finds no comparison
/// of floating-point numbers, which keep it from using wide registers.
template <typename T>
using Bits = std::conditional_t<std::is_same_v<T, float>, std::int32_t,
                                std::conditional_t<std::is_same_v<T, double>, std::int64_t, T>>;

template <typename T>
constexpr Bits<T> kInfinite = std::is_same_v<T, float> ? static_cast<Bits<T>>(0x7f800000)
                                                       : static_cast<Bits<T>>(0x7ff0000000000000);

/// All bits where `yes` holds, else none: a choice by a mask keeps the compiler from branches.
template <typename B>
inline B all_bits(bool yes) {
  return static_cast<B>(-static_cast<B>(yes));
}

/// Of -0 the bits of 0.
template <typename T>
inline Bits<T> bits_of(T value) {
  const auto bits = std::bit_cast<Bits<T>>(value);
  if constexpr (std::is_floating_point_v<T>)
    return bits & all_bits<Bits<T>>(bits != std::numeric_limits<Bits<T>>::min());
  else
    return bits;
}

template <typename T>
inline bool is_count(Bits<T> bits) {
  if constexpr (std::is_floating_point_v<T>)
    return (bits >= 0) & (bits < kInfinite<T>);
  else
    return bits >= 0;
}

template <typename T>
struct FrameRules {
  const std::uint8_t* counted;
  std::int64_t pixels;
  bool all_counted = false;
  Bits<T> ceiling = 0;
  bool has_ceiling = false;
};

/// Pixel i's bits, or 0 for what a hidden one holds that is no count. The rules come by value: what
/// a loop writes might else be them.
template <bool kAllCounted, typename T>
inline Bits<T> allowed(T value, FrameRules<T> rules, std::int64_t i) {
  const Bits<T> bits = bits_of(value);
  if constexpr (kAllCounted) return bits;
  const bool good = is_count<T>(bits) & !(rules.has_ceiling & (bits == rules.ceiling));
  return static_cast<Bits<T>>(bits & all_bits<Bits<T>>((rules.counted[i] != 0) | good));
}

template <typename T>
FrameRules<T> frame_rules(const at::Tensor& patterns, const ValueRules& rules) {
  FrameRules<T> own{mask_bytes(rules.mask), patterns.size(1) * patterns.size(2)};
  own.all_counted = std::memchr(own.counted, 0, static_cast<std::size_t>(own.pixels)) == nullptr;
  own.has_ceiling = rules.ceiling >= 0;
  if (own.has_ceiling) {
    // A 64-bit integer's largest value is no double.
    const bool largest = !std::is_floating_point_v<T> &&
                         rules.ceiling >= static_cast<double>(std::numeric_limits<T>::max());
    own.ceiling = bits_of(largest ? std::numeric_limits<T>::max() : static_cast<T>(rules.ceiling));
  }
  return own;
}

/// Whole numbers have no fraction; neither have those from 2^23 (float) or 2^51 (double) on.
template <typename T>
inline bool has_fraction(Bits<T> bits) {
  if constexpr (std::is_floating_point_v<T>) {
    constexpr T kWhole = std::is_same_v<T, float> ? T(8388608) : T(2251799813685248);
    constexpr auto kWholeBits = std::bit_cast<Bits<T>>(kWhole);
    const Bits<T> most = bits < kWholeBits ? bits : kWholeBits;
    const T value = std::bit_cast<T>(most);
    return std::bit_cast<Bits<T>>(static_cast<T>(static_cast<Bits<T>>(value))) != most;
  } else {
    return false;
  }
}

template <typename T>
double value_of(Bits<T> bits) {
  return static_cast<double>(std::bit_cast<T>(bits));
}

/// Flags are gathered in integers and not in branches, so that the compiler can use wide registers.
template <typename T, bool kAllCounted>
PTYCHE_WIDE ValueSurvey survey_frame(const T* values, FrameRules<T> rules) {
  Bits<T> largest = 0, bad = 0, cleared = 0, broken = 0, broken_hidden = 0;
  for (std::int64_t i = 0; i < rules.pixels; ++i) {
    const Bits<T> bits = allowed<kAllCounted>(values[i], rules, i);
    const Bits<T> seen = kAllCounted ? 1 : rules.counted[i];
    const Bits<T> good = bits & all_bits<Bits<T>>(is_count<T>(bits));
    const Bits<T> fraction = has_fraction<T>(good);
    bad |= static_cast<Bits<T>>(bits ^ good);
    cleared |= static_cast<Bits<T>>(bits ^ bits_of(values[i]));
    broken |= static_cast<Bits<T>>(fraction & seen);
    broken_hidden |= static_cast<Bits<T>>(fraction & (1 ^ seen));
    largest = good > largest ? good : largest;
  }
  return {bad == 0, broken == 0, broken_hidden == 0, true, cleared != 0, value_of<T>(largest)};
}

/// Off is what is farther from a whole number than both bounds: then two signs are set.
template <typename T, bool kAllCounted>
PTYCHE_WIDE bool has_whole_squares(const T* values, FrameRules<T> rules) {
  std::int64_t off = 0;
  for (std::int64_t i = 0; i < rules.pixels; ++i) {
    const Bits<T> bits =
        bits_of(values[i]) & all_bits<Bits<T>>(kAllCounted || rules.counted[i] != 0);
    const double value = value_of<T>(bits), square = value * value;
    const double error = std::abs(square - rounded(square));
    off |= std::bit_cast<std::int64_t>(kWholeWithin - error) &
           std::bit_cast<std::int64_t>(square * kFloat32Rounding - error);
  }
  return off >= 0;
}

template <typename T>
ValueSurvey survey_as(const at::Tensor& patterns, const ValueRules& rules, bool squares) {
  const FrameRules<T> own = frame_rules<T>(patterns, rules);
  const T* const values = patterns.const_data_ptr<T>();
  const auto look = own.all_counted ? survey_frame<T, true> : survey_frame<T, false>;
  const auto roots = own.all_counted ? has_whole_squares<T, true> : has_whole_squares<T, false>;
  ValueSurvey all;
  std::mutex adding;
  at::parallel_for(0, patterns.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    ValueSurvey some;
    for (std::int64_t i = begin; i < end; ++i) {
      ValueSurvey frame = look(values + i * own.pixels, own);
      if (squares && !frame.whole && some.whole_squares)
        frame.whole_squares = roots(values + i * own.pixels, own);
      some.add(frame);
    }
    const std::lock_guard lock(adding);
    all.add(some);
  });
  return all;
}

template <typename From, typename To, bool kSquare, bool kRound, bool kAllCounted>
PTYCHE_WIDE void convert_frame(const From* from, FrameRules<From> rules, To* to) {
  // float holds what it is given, and its square rounds to what the double's rounds to; but not
  // large whole numbers.
  constexpr bool kNarrow = std::is_same_v<From, float> &&
                           (!kRound || (sizeof(To) <= 2 && !std::is_floating_point_v<To>));
  using Number = std::conditional_t<kNarrow, float, double>;
  for (std::int64_t i = 0; i < rules.pixels; ++i) {
    auto value = static_cast<Number>(std::bit_cast<From>(allowed<kAllCounted>(from[i], rules, i)));
    if constexpr (kSquare) value *= value;
    if constexpr (kRound && kNarrow) value += 0.5f;  // cut off below
    if constexpr (kRound && !kNarrow) value = rounded(value);
    if constexpr (std::is_floating_point_v<To>)
      to[i] = static_cast<To>(value);
    else
      to[i] = static_cast<To>(static_cast<std::int32_t>(value));
  }
}

/// The function for frames of these rules.
template <typename From, typename To, bool kAllCounted>
auto frame_conversion(const CountRules& how) {
  if (!how.square)
    return how.round ? convert_frame<From, To, false, true, kAllCounted>
                     : convert_frame<From, To, false, false, kAllCounted>;
  return how.round ? convert_frame<From, To, true, true, kAllCounted>
                   : convert_frame<From, To, true, false, kAllCounted>;
}

template <typename From, typename To>
void convert_all(const at::Tensor& patterns, const ValueRules& rules, const CountRules& how,
                 at::Tensor& counts) {
  const FrameRules<From> own = frame_rules<From>(patterns, rules);
  const From* const from = patterns.const_data_ptr<From>();
  To* const to = counts.mutable_data_ptr<To>();
  const auto frame = own.all_counted ? frame_conversion<From, To, true>(how)
                                     : frame_conversion<From, To, false>(how);
  at::parallel_for(0, patterns.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      frame(from + i * own.pixels, own, to + i * own.pixels);
  });
}

template <typename From>
void convert_from(const at::Tensor& patterns, const ValueRules& rules, const CountRules& how,
                  at::Tensor& counts) {
  if (how.type == at::kByte) return convert_all<From, std::uint8_t>(patterns, rules, how, counts);
  if (how.type == at::kShort) return convert_all<From, std::int16_t>(patterns, rules, how, counts);
  if (how.type == at::kInt) return convert_all<From, std::int32_t>(patterns, rules, how, counts);
  convert_all<From, float>(patterns, rules, how, counts);
}

/// Calls `work` with a null pointer of the tensor's type.
template <typename Work>
auto with_type(const at::Tensor& values, const Work& work) {
  switch (values.scalar_type()) {
    case at::kByte:
      return work(static_cast<std::uint8_t*>(nullptr));
    case at::kChar:
      return work(static_cast<std::int8_t*>(nullptr));
    case at::kShort:
      return work(static_cast<std::int16_t*>(nullptr));
    case at::kInt:
      return work(static_cast<std::int32_t*>(nullptr));
    case at::kLong:
      return work(static_cast<std::int64_t*>(nullptr));
    case at::kFloat:
      return work(static_cast<float*>(nullptr));
    case at::kDouble:
      return work(static_cast<double*>(nullptr));
    default:
      throw InvalidInput("expected numbers, found " + type_name(values.scalar_type()));
  }
}

template <typename T>
void sum_frame(const T* values, const std::uint8_t* counted, std::int64_t pixels, double ceiling,
               double* to) {
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
  constexpr std::int64_t kLanes = 8;
  Sum sums[kLanes] = {};
  std::int64_t ties = 0, i = 0;
  for (; i + kLanes <= pixels; i += kLanes)
    for (std::int64_t lane = 0; lane < kLanes; ++lane)
      sums[lane] += counted[i + lane] != 0 ? static_cast<Sum>(values[i + lane]) : Sum(0);
  for (; i < pixels; ++i) sums[0] += counted[i] != 0 ? static_cast<Sum>(values[i]) : Sum(0);
  // float32 rounds the largest 32 bit number up by less than this.
  const double at_least = ceiling * (1 - 1e-7);
  for (i = 0; ceiling > 0 && i < pixels; ++i)
    ties += static_cast<double>(values[i]) >= at_least && counted[i] != 0;
  to[0] = 0;
  for (const Sum sum : sums) to[0] += static_cast<double>(sum);
  to[1] = static_cast<double>(ties);
}

}  // namespace

void ValueSurvey::add(const ValueSurvey& other) {
  valid = valid && other.valid;
  whole = whole && other.whole;
  whole_hidden = whole_hidden && other.whole_hidden;
  whole_squares = whole_squares && other.whole_squares;
  cleared = cleared || other.cleared;
  largest = std::max(largest, other.largest);
}

ValueSurvey survey(const at::Tensor& patterns, const ValueRules& rules, bool squares) {
  return with_type(patterns,
                   [&]<typename T>(T*) { return survey_as<T>(patterns, rules, squares); });
}

CountRules count_rules(const ValueSurvey& values, bool amplitude) {
  CountRules how{.square = amplitude, .round = amplitude && values.are_roots()};
  const bool whole = amplitude ? values.are_roots() : values.whole && values.whole_hidden;
  const double largest = amplitude ? std::round(values.largest * values.largest) : values.largest;
  how.type = !whole                  ? at::kFloat
             : largest <= 255        ? at::kByte
             : largest <= 32767      ? at::kShort
             : largest <= 2147483647 ? at::kInt
                                     : at::kFloat;
  return how;
}

void convert_into(const at::Tensor& patterns, const ValueRules& rules, const CountRules& how,
                  at::Tensor counts) {
  with_type(patterns, [&]<typename T>(T*) { convert_from<T>(patterns, rules, how, counts); });
}

at::Tensor converted(const at::Tensor& patterns, const ValueRules& rules, const CountRules& how) {
  at::Tensor counts = at::empty(patterns.sizes(), how.type);
  convert_into(patterns, rules, how, counts);
  return counts;
}

at::Tensor frame_sums(const at::Tensor& counts, const at::Tensor& mask, double ceiling) {
  at::Tensor sums = at::empty({counts.size(0), 2}, at::kDouble);
  const std::int64_t pixels = counts.size(1) * counts.size(2);
  const at::Tensor whole = counts.contiguous(), counted = mask.contiguous();
  with_type(whole, [&]<typename T>(T*) {
    at::parallel_for(0, whole.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        sum_frame(whole.const_data_ptr<T>() + i * pixels, mask_bytes(counted), pixels, ceiling,
                  sums.mutable_data_ptr<double>() + 2 * i);
    });
  });
  return sums;
}

double usual_sum(const at::Tensor& sums) {
  // Of all patterns, that are so much brighter than half of them: more than are overfull.
  constexpr double kBrighterThanNoise = 20, kMeasured = 0.1;
  const at::Tensor lit = sums.masked_select(sums.gt(0));
  if (lit.size(0) == 0) return 0;
  const double median = at::quantile(lit, 0.5).item<double>();
  const at::Tensor above = lit.masked_select(lit.gt(kBrighterThanNoise * median));
  const bool measured =
      static_cast<double>(above.size(0)) > kMeasured * static_cast<double>(lit.size(0));
  return measured ? at::quantile(above, 0.5).item<double>() : median;
}

bool are_squares_of_counts(const at::Tensor& values) {
  constexpr double kShare = 0.999;
  constexpr std::int64_t kFewest = 50;
  const at::Tensor large = values.masked_select(values.gt(1.5).logical_and(values.lt(1e6)));
  const at::Tensor roots = large.sqrt();
  return large.size(0) > kFewest &&
         (roots - roots.round()).abs().lt(kWholeWithin).to(at::kDouble).mean().item<double>() >
             kShare;
}

namespace {

// Pixels beside each other in the top and the bottom quarter of 2^k, over those in the top and the
// second: <= .02 | .5 .. 30, but 17 at the rim of an aperture.
constexpr double kDropRatio = 0.3;
constexpr std::int64_t kDrops = 20;
constexpr double kLastBefore = 0.99;
// Values in the last two steps of this share below the period, and how many would lie beyond it if
// they went on: 21 .. 10 000, 17 .. 28 000 | 1, 0.
constexpr double kTailStep = 0.015, kSlowestTail = 0.95, kFewestInTail = 10;
constexpr double kPiledUp = 2;  // values at the largest one over those in the step below it

/// Pixels beside each other along an axis, of which the first is high: how many of the others are
/// in the bottom and in the second quarter.
std::array<std::int64_t, 2> beside_high(const at::Tensor& counts, std::int64_t axis,
                                        double period) {
  const std::int64_t length = counts.size(axis);
  const at::Tensor first = counts.narrow(axis, 0, length - 1),
                   second = counts.narrow(axis, 1, length - 1);
  std::array<std::int64_t, 2> found{0, 0};
  for (const auto& [one, other] : {std::pair(first, second), std::pair(second, first)}) {
    const at::Tensor beside = other.masked_select(one.ge(0.75 * period));
    const auto low = beside.lt(0.25 * period).sum().item<std::int64_t>();
    found[0] += low;
    found[1] += beside.lt(0.5 * period).sum().item<std::int64_t>() - low;
  }
  return found;
}

/// Whether the values go on beyond the period, as those in the last steps below it do.
bool go_on(const at::Tensor& counts, double top, double period) {
  const double step = std::ceil(kTailStep * period);
  const auto from = [&](double least) {
    return static_cast<double>(counts.ge(least).sum().item<std::int64_t>());
  };
  const double last = from(period - step), before = from(period - 2 * step) - last;
  const double at_top = from(top), below_top = from(top - step) - at_top;
  const bool cut_off = at_top > kPiledUp * below_top;
  if (last < kFewestInTail || cut_off) return false;
  const double ratio = std::min(last / std::max(before, 1.0), kSlowestTail);
  return last * ratio / (1 - ratio) > kFewestInTail;
}

}  // namespace

std::optional<WrappedValues> wrapped_values(const at::Tensor& counts) {
  if (counts.numel() == 0) return std::nullopt;
  const auto top = counts.max().item<double>();
  for (const int bits : {8, 10, 12, 14, 16}) {
    const double period = std::exp2(bits);
    if (!(top < period && top > kLastBefore * (period - 1))) continue;
    const auto rows = beside_high(counts, 1, period), cols = beside_high(counts, 2, period);
    const std::int64_t jumps = rows[0] + cols[0];
    const double ratio = static_cast<double>(jumps) / static_cast<double>(rows[1] + cols[1] + 1);
    if (jumps > kDrops && ratio > kDropRatio && go_on(counts, top, period))
      return WrappedValues{period, jumps};
  }
  return std::nullopt;
}

}  // namespace ptyche
