#include "ptyche/group/make_groups.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nanoflann.hpp>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/core/random.h"
#include "ptyche/group/fixed_groups.h"

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
           .help = "number of patterns that are used, drawn at random; 0 = all",
           .range = {0, 1e9}},
          {.name = "subsample-seed",
           .target = &options.seed,
           .help = "seed of the choice of --n-subsample"},
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

namespace {

/// Batches of one group, as many as the weight asks for: whole passes first, then part of one.
std::vector<GroupBatch> single_groups(const WeightedGroups& scan, std::int64_t epoch) {
  const auto passes = static_cast<std::int64_t>(std::ceil(scan.weight));
  std::vector<GroupBatch> drawn;
  std::size_t in_a_pass = 0;
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    std::vector<GroupBatch> some = draw_epoch(scan.groups, 1, epoch * passes + pass);
    in_a_pass = some.size();
    drawn.insert(drawn.end(), some.begin(), some.end());
  }
  const double wanted = std::round(scan.weight * static_cast<double>(in_a_pass));
  drawn.resize(std::max<std::size_t>(1, static_cast<std::size_t>(wanted)));
  return drawn;
}

/// Several batches of one scan as one.
GroupBatch joined_batch(const std::vector<GroupBatch>& batches) {
  if (batches.size() == 1) return batches.front();
  std::vector<at::Tensor> frames, group, merged;
  std::int64_t count = 0, places = 0;
  for (const GroupBatch& batch : batches) {
    frames.push_back(batch.frames);
    group.push_back(batch.group + count);
    merged.push_back(batch.merged + places);
    count += batch.count;
    places += batch.frames.size(0);
  }
  return {at::cat(frames), at::cat(group), at::cat(merged), count};
}

/// The chosen groups, joined by scan.
std::vector<ScanBatch> by_scan(const std::vector<ScanBatch>& groups) {
  std::map<std::size_t, std::vector<GroupBatch>> sorted;
  for (const ScanBatch& group : groups) sorted[group.scan].push_back(group.batch);
  std::vector<ScanBatch> parts;
  for (const auto& [scan, batches] : sorted) parts.push_back({scan, joined_batch(batches)});
  return parts;
}

}  // namespace

std::vector<std::vector<ScanBatch>> draw_mixed_epoch(const std::vector<WeightedGroups>& scans,
                                                     std::int64_t groups_per_batch,
                                                     std::uint64_t seed, std::int64_t epoch) {
  std::vector<std::vector<ScanBatch>> batches;
  if (scans.size() == 1 && scans.front().weight == 1) {
    for (GroupBatch& batch : draw_epoch(scans.front().groups, groups_per_batch, epoch))
      batches.push_back({{0, std::move(batch)}});
    return batches;
  }
  std::vector<ScanBatch> all;
  for (std::size_t scan = 0; scan < scans.size(); ++scan)
    for (GroupBatch& batch : single_groups(scans[scan], epoch))
      all.push_back({scan, std::move(batch)});
  const auto count = static_cast<std::int64_t>(all.size());
  const RandomStream stream(seed, Purpose::scan_mixture, static_cast<std::uint64_t>(epoch));
  std::vector<ScanBatch> chosen;
  for (const std::int64_t place : permutation(count, stream)) {
    chosen.push_back(all[static_cast<std::size_t>(place)]);
    if (static_cast<std::int64_t>(chosen.size()) < groups_per_batch) continue;
    batches.push_back(by_scan(chosen));
    chosen.clear();
  }
  if (!chosen.empty()) batches.push_back(by_scan(chosen));
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
           .help = "number of neighbouring patterns that one merged object must predict",
           .range = {1, 64}},
          {.name = "merged",
           .target = &options.merged,
           .unit = "patterns",
           .help = "number of patterns of a group that are merged, drawn anew each time; 0 = half",
           .range = {0, 64}},
          {.name = "group-seed", .target = &options.seed, .internal = true}};
}

namespace {

/// What nanoflann asks of a set of points.
struct PointCloud {
  const double* points;
  std::size_t count;
  std::size_t kdtree_get_point_count() const { return count; }
  double kdtree_get_pt(std::size_t point, std::size_t axis) const {
    return points[2 * point + axis];
  }
  template <class Box>
  bool kdtree_get_bbox(Box&) const {
    return false;
  }
};

using Tree = nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<double, PointCloud>,
                                                 PointCloud, 2, std::size_t>;

}  // namespace

constexpr std::int64_t kPointsAtOnce = 256;  // of a thread

at::Tensor nearest_points(const at::Tensor& points, std::int64_t count) {
  const at::Tensor packed = points.contiguous();
  const auto all = static_cast<std::size_t>(packed.size(0));
  const PointCloud cloud{packed.data_ptr<double>(), all};
  const Tree tree(2, cloud);
  at::Tensor found = at::empty({packed.size(0), count}, at::kLong);
  auto* const listed = found.mutable_data_ptr<std::int64_t>();
  at::parallel_for(0, packed.size(0), kPointsAtOnce, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::size_t> indices(static_cast<std::size_t>(count));
    std::vector<double> distances(indices.size());
    for (auto point = static_cast<std::size_t>(begin); point < static_cast<std::size_t>(end);
         ++point) {
      tree.knnSearch(cloud.points + 2 * point, indices.size(), indices.data(), distances.data());
      // Several patterns at one position: the search may put another one first, or leave this one
      // out.
      auto self = std::find(indices.begin(), indices.end(), point);
      if (self == indices.end()) *--self = point;
      std::iter_swap(indices.begin(), self);
      std::copy(indices.begin(), indices.end(), listed + point * indices.size());
    }
  });
  return found;
}

namespace {

constexpr std::int64_t kNearest = 6;

std::optional<double> mean_over_pairs(const at::Tensor& positions, const at::Tensor& groups,
                                      double diameter) {
  const std::int64_t size = groups.size(1);
  if (size < 2) return std::nullopt;
  const at::Tensor members =
      positions.index_select(0, groups.reshape(-1)).view({groups.size(0), size, 2});
  double sum = 0;
  for (std::int64_t one = 0; one < size; ++one) {
    const at::Tensor later = members.slice(1, one + 1) - members.slice(1, one, one + 1);
    sum += disc_overlap(later.square().sum(2).sqrt(), diameter).sum().item<double>();
  }
  return sum / static_cast<double>(groups.size(0) * (size * (size - 1) / 2));
}

std::optional<double> mean_over_nearest(const at::Tensor& points, double diameter) {
  const std::int64_t others = std::min(kNearest, points.size(0) - 1);
  if (others < 1) return std::nullopt;
  const at::Tensor rows = nearest_points(points, 1 + others).slice(1, 1);
  const at::Tensor away = points.index_select(0, rows.reshape(-1)).view({-1, others, 2});
  const at::Tensor distance = (away - points.unsqueeze(1)).square().sum(2).sqrt();
  return disc_overlap(distance, diameter).mean().item<double>();
}

}  // namespace

at::Tensor disc_overlap(const at::Tensor& distance, double diameter) {
  const at::Tensor apart = (distance / diameter).clamp_max(1);
  return (apart.acos() - apart * (1 - apart.square()).sqrt()) * (2 / M_PI);
}

GroupOverlap group_overlap(const at::Tensor& positions, const at::Tensor& groups, double diameter) {
  const at::Tensor patterns = std::get<0>(at::_unique(groups));
  return {
      .in_groups = mean_over_pairs(positions, groups, diameter),
      .of_neighbours = mean_over_nearest(positions.index_select(0, patterns), diameter),
      .of_groups = mean_over_nearest(group_centres(positions, groups), diameter),
  };
}

}  // namespace ptyche
