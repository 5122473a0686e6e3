// Scans that are small enough for quick tests.
#pragma once

#include "ptyche/data/scan.h"

namespace ptyche {

/// `frames` patterns of 16 x 16 pixels on a jittered grid with 3 px steps, noiseless counts of a
/// smooth probe of 1e4 photons on `object` (rows, cols), or on a smooth random one if undefined;
/// the truth and the true probe are in the scan.
Scan small_scan(std::int64_t frames = 36, const at::Tensor& object = {});

}  // namespace ptyche
