#include "ptyche/data/counts_change.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ptyche/data/array.h"
#include "ptyche/data/scan.h"

namespace ptyche {
namespace {

constexpr std::int64_t kChangedAtOnce = 64;

at::Tensor changed_values(const at::Tensor& values, const ChangeValues& change) {
  const at::Tensor x = values.to(at::kDouble) / change.unit;
  switch (change.way) {
    case ChangeValues::Way::scale:
      return x.round();
    case ChangeValues::Way::square:
      return x.square().round();
    case ChangeValues::Way::root:
      return x.sqrt().round();
    case ChangeValues::Way::power:
      return (at::exp2(x) - 1).round();
    case ChangeValues::Way::power_of_root:
      return (at::exp2(x.sqrt()) - 1).round();
    case ChangeValues::Way::each_pattern:
      return (x / smallest_of_each(x)).round();
  }
  return x;
}

/// What a pixel can hold as a count; logarithms of garbage may be anything.
constexpr double kMostCounts = 2e9;

/// Some at a time: rolling along two axes makes a copy between.
at::Tensor all_moved(const at::Tensor& patterns, const ShiftPatterns& shift) {
  at::Tensor all = at::empty_like(patterns);
  for (std::int64_t first = 0; first < patterns.size(0); first += kChangedAtOnce) {
    const std::int64_t length = std::min(kChangedAtOnce, patterns.size(0) - first);
    all.narrow(0, first, length).copy_(moved(patterns.narrow(0, first, length), shift));
  }
  return all;
}

at::Tensor with_other_values(const at::Tensor& counts, const ChangeValues& change) {
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < counts.size(0); first += kChangedAtOnce) {
    const std::int64_t length = std::min(kChangedAtOnce, counts.size(0) - first);
    const at::Tensor values = changed_values(counts.narrow(0, first, length), change);
    parts.push_back(values.clamp(0, kMostCounts).to(at::kFloat));
  }
  return in_smallest_exact_type(at::cat(parts));
}

/// False around the middle, the corner and the middles of the edges.
at::Tensor far_from_zero_frequency(std::int64_t size) {
  constexpr std::int64_t kBeside = 3;
  const at::Tensor axis = at::arange(size).remainder(std::max<std::int64_t>(size / 2, 1));
  const at::Tensor near = axis.le(kBeside).logical_or(axis.ge(size / 2 - kBeside));
  return near.unsqueeze(1).logical_and(near).logical_not();
}

at::Tensor without_spikes(const at::Tensor& counts, const RemoveSpikes& which) {
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < counts.size(0); first += kChangedAtOnce) {
    const std::int64_t length = std::min(kChangedAtOnce, counts.size(0) - first);
    const at::Tensor values = counts.narrow(0, first, length).to(at::kFloat);
    const at::Tensor beside =
        (at::avg_pool2d(values.unsqueeze(1), {3, 3}, {1, 1}, {1, 1}).squeeze(1) * 9 - values) / 8;
    parts.push_back(at::where(spikes_in(values, which), beside.round().clamp_min(0), values));
  }
  return in_smallest_exact_type(at::cat(parts));
}

}  // namespace

at::Tensor smallest_of_each(const at::Tensor& patterns) {
  const double none = std::numeric_limits<double>::infinity();
  const at::Tensor least = patterns.masked_fill(patterns.le(0), none).amin({-2, -1}, true);
  return least.masked_fill(least.eq(none), 1);
}

at::Tensor spikes_in(const at::Tensor& patterns, const RemoveSpikes& which) {
  const at::Tensor bright = patterns.gt(which.above);
  if (!bright.any().item<bool>()) return bright;
  return patterns.gt(brightest_beside(patterns) * which.times + which.above)
      .logical_and(far_from_zero_frequency(patterns.size(-1)));
}

at::Tensor moved(const at::Tensor& images, const ShiftPatterns& shift) {
  at::Tensor turned = at::roll(images, {-shift.rows, -shift.cols}, {-2, -1});
  if (shift.around) return turned;
  const std::int64_t by[] = {shift.rows, shift.cols};
  for (const std::int64_t axis : {0, 1}) {
    const std::int64_t size = images.size(axis - 2), width = std::min(std::abs(by[axis]), size);
    turned.narrow(axis - 2, by[axis] > 0 ? size - width : 0, width).zero_();
  }
  return turned;
}

at::Tensor changed_counts(const at::Tensor& counts, const CountsChange& change) {
  if (const auto* values = std::get_if<ChangeValues>(&change))
    return with_other_values(counts, *values);
  if (const auto* spikes = std::get_if<RemoveSpikes>(&change))
    return without_spikes(counts, *spikes);
  return all_moved(counts, std::get<ShiftPatterns>(change));
}

at::Tensor as_numbers(const CountsChange& change) {
  const auto* values = std::get_if<ChangeValues>(&change);
  const auto* shift = std::get_if<ShiftPatterns>(&change);
  const ChangeValues v = values ? *values : ChangeValues{};
  const ShiftPatterns s = shift ? *shift : ShiftPatterns{};
  if (const auto* spikes = std::get_if<RemoveSpikes>(&change))
    return at::tensor(
        {static_cast<double>(change.index()), spikes->times, spikes->above, 0.0, 0.0, 0.0},
        at::kDouble);
  return at::tensor(
      {static_cast<double>(change.index()), static_cast<double>(v.way), v.unit,
       static_cast<double>(s.rows), static_cast<double>(s.cols), static_cast<double>(s.around)},
      at::kDouble);
}

CountsChange counts_change_of(const at::Tensor& numbers) {
  const auto* n = numbers.const_data_ptr<double>();
  if (n[0] == 0) return ChangeValues{.way = static_cast<ChangeValues::Way>(n[1]), .unit = n[2]};
  if (n[0] == 2) return RemoveSpikes{.times = n[1], .above = n[2]};
  return ShiftPatterns{.rows = static_cast<std::int64_t>(n[3]),
                       .cols = static_cast<std::int64_t>(n[4]),
                       .around = n[5] != 0};
}

}  // namespace ptyche
