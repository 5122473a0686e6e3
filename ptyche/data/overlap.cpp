#include "ptyche/data/overlap.h"

#include <algorithm>
#include <cmath>

namespace ptyche {
namespace {

constexpr std::int64_t kAsked = 2000;  // positions; bounds the time of large scans

}  // namespace

double probe_diameter_px(const at::Tensor& probe) {
  const at::Tensor power = probe.abs().square().sum(0).to(at::kDouble);
  const at::Tensor share = power / power.sum(), axis = at::arange(power.size(0), at::kDouble);
  const at::Tensor row = axis - (share.sum(1) * axis).sum();
  const at::Tensor col = axis - (share.sum(0) * axis).sum();
  const at::Tensor radius = (row.square().unsqueeze(1) + col.square().unsqueeze(0)).sqrt().view(-1);
  const at::Tensor order = radius.argsort();
  const at::Tensor inside = share.reshape(-1).index_select(0, order).cumsum(0).lt(0.9).sum();
  const std::int64_t place = std::min(inside.item<std::int64_t>(), radius.size(0) - 1);
  return 2 * radius[order[place].item<std::int64_t>()].item<double>();
}

double median_step_px(const at::Tensor& positions) {
  const std::int64_t count = positions.size(0), asked = std::min(count, kAsked);
  if (count < 2) return 0;
  at::Tensor nearest = at::empty({asked}, at::kDouble);
  for (std::int64_t i = 0; i < asked; ++i) {
    const std::int64_t own = i * count / asked;
    at::Tensor distance = (positions - positions[own]).square().sum(1);
    distance[own] = INFINITY;
    nearest[i] = distance.min().sqrt();
  }
  return nearest.median().item<double>();
}

}  // namespace ptyche
