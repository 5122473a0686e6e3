#include "ptyche/group/group_overlap.h"

#include <algorithm>
#include <cmath>

#include "ptyche/group/fixed_groups.h"
#include "ptyche/group/nearest_points.h"

namespace ptyche {
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
