#include "ptyche/group/make_groups.h"

#include <algorithm>
#include <nanoflann.hpp>

#include "ptyche/core/error.h"
#include "ptyche/core/random.h"

namespace ptyche {
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

/// Row indices (n, size) of the nearest points, the point itself first.
at::Tensor nearest(const at::Tensor& points, std::int64_t size) {
  const auto count = static_cast<std::size_t>(points.size(0));
  const PointCloud cloud{points.data_ptr<double>(), count};
  const Tree tree(2, cloud);
  at::Tensor found = at::empty({points.size(0), size}, at::kLong);
  std::vector<std::size_t> indices(static_cast<std::size_t>(size));
  std::vector<double> distances(indices.size());
  for (std::size_t point = 0; point < count; ++point) {
    tree.knnSearch(cloud.points + 2 * point, indices.size(), indices.data(), distances.data());
    // Several patterns at one position: the search may put another one first, or leave this one
    // out.
    auto self = std::find(indices.begin(), indices.end(), point);
    if (self == indices.end()) *--self = point;
    std::iter_swap(indices.begin(), self);
    std::copy(indices.begin(), indices.end(),
              found.data_ptr<std::int64_t>() + point * indices.size());
  }
  return found;
}

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

void check(const GroupOptions& options) {
  require(options.size >= 1 && options.size <= 64, "group size: expected 1..64 patterns, found {}",
          options.size);
  require(options.merged >= 0 && options.merged <= options.size,
          "merged patterns of a group: expected 1..{} (the group's size) or 0, found {}",
          options.size, options.merged);
}

}  // namespace

Groups make_groups(const Scan& scan, const GroupOptions& options) {
  check(options);
  const at::Tensor used = scan.frames_with(FrameUse::used);
  require(used.size(0) >= options.size,
          "{}: a group needs {} patterns, the scan has {} that may be used; choose a smaller "
          "--group-size",
          scan.source(), options.size, used.size(0));
  const at::Tensor rows =
      nearest(scan.positions().index_select(0, used).contiguous(), options.size);
  return {.neighbours = used.index_select(0, rows.view(-1)).view_as(rows),
          .size = options.size,
          .merged = options.merged > 0 ? options.merged : (options.size + 1) / 2,
          .seed = options.seed};
}

std::vector<GroupBatch> draw_epoch(const Groups& groups, std::int64_t groups_per_batch,
                                   std::int64_t epoch) {
  const std::int64_t seeds = groups.neighbours.size(0);
  const auto epoch_index = static_cast<std::uint64_t>(epoch);
  const auto order =
      permutation(seeds, RandomStream(groups.seed, Purpose::group_order, epoch_index));
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

}  // namespace ptyche
