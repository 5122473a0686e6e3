#include "ptyche/ptychopinn/calibrate_probe.h"

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/data/describe.h"

namespace ptyche {

at::Tensor calibrate_probe_to_mean(const at::Tensor& probe, const at::Tensor& mask,
                                   double probe_scale) {
  require((probe.dim() == 2 || probe.dim() == 3) && mask.dim() == 2 &&
              probe.size(-1) == mask.size(1) && probe.size(-2) == mask.size(0),
          "calibrate_probe_to_mean: expected a mask (N, N) for a probe (modes, N, N), found {} for "
          "{}",
          describe(mask), describe(probe));
  require(probe_scale > 0, "probe_scale: expected a positive number, found {}", probe_scale);
  const auto mean = (probe.abs().to(at::kDouble) * mask).mean().item<double>();
  require(mean > 0 && std::isfinite(mean),
          "mean of the probe under its mask: expected finite and > 0, found {}", mean);
  return probe / (probe_scale * mean);
}

}  // namespace ptyche
