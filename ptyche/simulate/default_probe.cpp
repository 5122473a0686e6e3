#include "ptyche/simulate/default_probe.h"

#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/simulate/gaussian_filter.h"

namespace ptyche {

at::Tensor default_probe(std::int64_t size) {
  require(size >= 8, "default_probe: expected a size of at least 8, found {}", size);
  const double deviation = static_cast<double>(size) / (0.7 * std::numbers::pi * std::numbers::pi);
  const at::Tensor offset = at::arange(size, at::kDouble) - 0.5 * static_cast<double>(size - 1);
  const at::Tensor gauss = at::exp(-0.5 * (offset / deviation).square());
  const at::Tensor window = gauss / gauss.max();
  const at::Tensor disc = at::outer(window, window).gt(0.5).to(at::kDouble);
  return gaussian_filter(disc, 1) + 1e-9;
}

}  // namespace ptyche
