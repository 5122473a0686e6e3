#include "ptyche/group/make_groups.h"

#include <algorithm>

#include "ptyche/core/error.h"
#include "ptyche/core/log.h"
#include "ptyche/core/random.h"
#include "ptyche/group/neighbours.h"

namespace ptyche {

Scan subsample(const Scan& scan, const SubsampleOptions& options) {
  require_in_range(options);
  at::Tensor order = scan.frames_with(FrameUse::used);
  const std::int64_t patterns = order.size(0);
  if (options.count > patterns)
    note("--n-subsample {}: the scan has {} patterns that may be used; all are kept", options.count,
         patterns);
  if (options.count == 0 || options.count >= patterns) return scan;
  if (!options.first) {
    const RandomStream stream(options.seed, Purpose::subsample);
    order = order.index_select(0, at::tensor(permutation(patterns, stream), at::kLong));
  }
  return scan.with_frame_use(scan.frame_use().index_fill(
      0, order.slice(0, options.count), static_cast<std::int64_t>(FrameUse::rejected)));
}

std::vector<Field> fields(SubsampleOptions& options) {
  return {{.name = "n-subsample",
           .target = &options.count,
           .unit = "patterns",
           .help = "how many patterns are used at all; 0 = every one",
           .range = {0, 1e9}},
          {.name = "subsample-seed", .target = &options.seed, .help = "draws these"},
          {.name = "subsample-first", .target = &options.first, .internal = true}};
}

namespace {

/// The places 0..size-1 of a group's members that are merged, ascending, each shifted by `first`.
void append_merged(std::vector<std::int64_t>& places, const Groups& groups, std::int64_t first,
                   RandomStream stream) {
  auto order = permutation(groups.size, stream);
  order.resize(static_cast<std::size_t>(groups.merged));
  std::sort(order.begin(), order.end());
  for (const std::int64_t place : order) places.push_back(first + place);
}

GroupBatch make_batch(const Groups& groups, const std::vector<std::int64_t>& seed_rows,
                      std::uint64_t stream_index) {
  const auto count = static_cast<std::int64_t>(seed_rows.size());
  std::vector<std::int64_t> merged;
  for (std::int64_t group = 0; group < count; ++group)
    append_merged(merged, groups, group * groups.size,
                  RandomStream(groups.seed, Purpose::group_choice,
                               stream_index + static_cast<std::uint64_t>(group)));
  const at::Tensor rows = at::tensor(seed_rows, at::kLong);
  return {.frames = groups.neighbours.index_select(0, rows).reshape(-1),
          .group = at::arange(count, at::kLong).repeat_interleave(groups.size),
          .merged = at::tensor(merged, at::kLong),
          .count = count};
}

/// Batches of fixed groups in the given order, all of their patterns merged.
std::vector<GroupBatch> fixed_batches(const Groups& groups, const std::vector<std::int64_t>& order,
                                      std::int64_t groups_per_batch) {
  const at::Tensor rows = at::tensor(order, at::kLong);
  std::vector<GroupBatch> batches;
  for (std::int64_t first = 0; first < rows.size(0); first += groups_per_batch) {
    const at::Tensor chosen = rows.slice(0, first, first + groups_per_batch);
    const std::int64_t count = chosen.size(0);
    batches.push_back({.frames = groups.fixed.index_select(0, chosen).reshape(-1),
                       .group = at::arange(count, at::kLong).repeat_interleave(groups.size),
                       .merged = at::arange(count * groups.size, at::kLong),
                       .count = count});
  }
  return batches;
}

}  // namespace

Groups make_groups(const Scan& scan, const GroupOptions& options) {
  require_in_range(options);
  require(options.merged <= options.size, "--merged: expected 0..{} (--group-size), found {}",
          options.size, options.merged);
  const at::Tensor used = scan.frames_with(FrameUse::used);
  require(used.size(0) >= options.size,
          "{}: a group needs {} patterns, the scan has {} that may be used; choose a smaller "
          "--group-size",
          scan.source(), options.size, used.size(0));
  const at::Tensor rows = nearest_points(scan.positions().index_select(0, used), options.size);
  return {.neighbours = used.index_select(0, rows.view(-1)).view_as(rows),
          .size = options.size,
          .merged = options.merged > 0 ? options.merged : (options.size + 1) / 2,
          .seed = options.seed};
}

std::vector<GroupBatch> draw_epoch(const Groups& groups, std::int64_t groups_per_batch,
                                   std::int64_t epoch) {
  const std::int64_t seeds = groups.are_fixed() ? groups.fixed.size(0) : groups.neighbours.size(0);
  const auto epoch_index = static_cast<std::uint64_t>(epoch);
  const auto order =
      permutation(seeds, RandomStream(groups.seed, Purpose::group_order, epoch_index));
  if (groups.are_fixed()) return fixed_batches(groups, order, groups_per_batch);
  const std::int64_t count = (seeds + groups.merged - 1) / groups.merged;
  std::vector<GroupBatch> batches;
  for (std::int64_t first = 0; first < count; first += groups_per_batch) {
    const std::int64_t last = std::min(first + groups_per_batch, count);
    batches.push_back(make_batch(
        groups, {order.begin() + first, order.begin() + last},
        epoch_index * static_cast<std::uint64_t>(count) + static_cast<std::uint64_t>(first)));
  }
  return batches;
}

double visits_per_epoch(const Groups& groups) {
  if (!groups.are_fixed())
    return static_cast<double>(groups.size) / static_cast<double>(groups.merged);
  const std::int64_t patterns = std::get<0>(at::_unique(groups.fixed)).size(0);
  return static_cast<double>(groups.fixed.numel()) / static_cast<double>(patterns);
}

std::vector<Field> fields(GroupOptions& options) {
  return {{.name = "group-size",
           .target = &options.size,
           .unit = "patterns",
           .help = "neighbours that one merged object must predict",
           .range = {1, 64}},
          {.name = "merged",
           .target = &options.merged,
           .unit = "patterns",
           .help = "how many of a group are merged, drawn anew each time; 0 = half",
           .range = {0, 64}},
          {.name = "group-seed", .target = &options.seed, .internal = true}};
}

}  // namespace ptyche
