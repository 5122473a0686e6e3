#include "ptyche/group/neighbours.h"

#include <algorithm>
#include <cmath>
#include <nanoflann.hpp>
#include <vector>

#include "ptyche/group/fixed_groups.h"

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

}  // namespace

at::Tensor nearest_points(const at::Tensor& points, std::int64_t count) {
  const at::Tensor packed = points.contiguous();
  const auto all = static_cast<std::size_t>(packed.size(0));
  const PointCloud cloud{packed.data_ptr<double>(), all};
  const Tree tree(2, cloud);
  at::Tensor found = at::empty({packed.size(0), count}, at::kLong);
  std::vector<std::size_t> indices(static_cast<std::size_t>(count));
  std::vector<double> distances(indices.size());
  for (std::size_t point = 0; point < all; ++point) {
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
