#include "ptyche/ptychopinn/probe_shape.h"

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/data/probe.h"
#include "ptyche/ptychopinn/grid_data.h"
#include "ptyche/ptychopinn/operators.h"

namespace ptyche {

std::vector<Field> fields(ProbeShape& shape) {
  return {{.name = "probe-smoothing-sigma",
           .target = &shape.smoothing_px,
           .unit = "px",
           .help = "standard deviation of the Gaussian that smooths the first probe; 0 = none",
           .range = {0, 1000}},
          {.name = "probe-mask",
           .target = &shape.mask,
           .help = "first probe cut to a disc, as PtychoPINN does"},
          {.name = "probe-mask-diameter",
           .target = &shape.mask_diameter_px,
           .unit = "px",
           .help = "diameter of the disc; 0 = N / 2",
           .range = {0, 1e5}},
          {.name = "probe-mask-sigma",
           .target = &shape.mask_sigma_px,
           .unit = "px",
           .help = "standard deviation of the Gaussian that blurs the disc's edge",
           .range = {1e-3, 1000}}};
}

Scan with_shaped_probe(const Scan& scan, const ProbeShape& shape) {
  require(shape.mask || shape.mask_diameter_px == 0,
          "--probe-mask-diameter: it goes with --probe-mask, found {} px", shape.mask_diameter_px);
  at::Tensor probe = scan.probe();
  if (shape.smoothing_px > 0) {
    std::vector<at::Tensor> modes;
    for (const at::Tensor& mode : probe.to(at::kComplexDouble).unbind(0))
      modes.push_back(smoothed_probe(mode, shape.smoothing_px));
    probe = at::stack(modes);
  }
  if (shape.mask)
    probe =
        probe * soft_probe_mask(scan.pattern_size(), shape.mask_diameter_px, shape.mask_sigma_px);
  const double power = probe_power(probe);
  require(power > 0, "{}: expected light in the probe's disc, found {}", scan.source(), "none");
  return scan.with_probe(
      (probe * std::sqrt(probe_power(scan.probe()) / power)).to(at::kComplexFloat).contiguous());
}

}  // namespace ptyche
