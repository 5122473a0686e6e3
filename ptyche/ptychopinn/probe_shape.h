// What PtychoPINN may do to the probe that a training starts from: smooth it, cut it to a disc.
#pragma once

#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/data/scan.h"

namespace ptyche {

struct ProbeShape {
  double smoothing_px = 0;      ///< Gaussian of real and imaginary part, 0 = none
  bool mask = false;            ///< times soft_probe_mask (operators.h)
  double mask_diameter_px = 0;  ///< its disc; 0 = N / 2
  double mask_sigma_px = 1;     ///< its edge
};
std::vector<Field> fields(ProbeShape& shape);

/// The scan with its probe smoothed, then masked, its power as it was. Throws InvalidInput where no
/// light is left, and for a mask that is described and not asked for.
Scan with_shaped_probe(const Scan& scan, const ProbeShape& shape);

}  // namespace ptyche
