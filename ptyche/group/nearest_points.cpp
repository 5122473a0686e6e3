#include "ptyche/group/nearest_points.h"

#include <algorithm>
#include <nanoflann.hpp>
#include <vector>

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

}  // namespace ptyche
