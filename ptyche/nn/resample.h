// Images half and twice as large, inside networks.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// The largest of every 2 x 2 pixels.
inline at::Tensor half_as_large(const at::Tensor& x) { return at::max_pool2d(x, 2); }

/// Every pixel four times.
inline at::Tensor twice_as_large(const at::Tensor& x) {
  return at::upsample_nearest2d(x, {2 * x.size(2), 2 * x.size(3)});
}

}  // namespace ptyche
