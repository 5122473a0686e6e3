#include "ptyche/ptychopinn/probe_mask.h"

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/simulate/gaussian_filter.h"

namespace ptyche {
namespace {

/// Distance from the point between the central pixels, (N, N) float64.
at::Tensor radius_px(std::int64_t size) {
  require(size >= 1, "probe mask: expected a size of at least 1, found {}", size);
  const at::Tensor axis = at::arange(size, at::kDouble) - static_cast<double>(size / 2) + 0.5;
  return (axis.square().unsqueeze(1) + axis.square()).sqrt();
}

}  // namespace

at::Tensor hard_probe_mask(std::int64_t size) { return radius_px(size).lt(size / 4); }

at::Tensor soft_probe_mask(std::int64_t size, double diameter_px, double sigma_px) {
  require(diameter_px >= 0 && sigma_px > 0,
          "probe mask: expected a diameter >= 0 and sigma > 0, found {} and {}", diameter_px,
          sigma_px);
  const double diameter = diameter_px > 0 ? diameter_px : 0.5 * static_cast<double>(size);
  const at::Tensor disc = radius_px(size).lt(0.5 * diameter).to(at::kDouble);
  const double radius = std::ceil(3 * sigma_px);
  const at::Tensor blurred = gaussian_filter(disc, sigma_px, radius / sigma_px);
  return blurred / blurred.max().clamp_min(1e-300);
}

}  // namespace ptyche
