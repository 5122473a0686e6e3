// Detector pixels summed by squares.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/io/read_scan.h"
#include "ptyche/io/readers.h"

namespace ptyche {

/// Makes `options.crop` a multiple of two bins, so that what is kept has an even number of them,
/// and says so where pixels are lost. Call before the patterns are read. Throws InvalidInput for a
/// near-field scan, whose pixels are the object's, or where nothing would be left.
void settle_bins(const RawScan& raw, ReadOptions& options);

/// Sums of bin x bin pixels: counts (n, N, N) and mask become (.., N / bin, N / bin), a sum with a
/// masked pixel is masked, the detector's pixel grows, and the probe keeps its middle: the object's
/// pixel stays, the window becomes smaller. The zero frequency lies in the middle of a pixel, not
/// of a sum: the probe is tilted by the (bin - 1) / 2 pixels between.
void bin_patterns(RawScan& raw, at::Tensor& counts, std::int64_t bin);

}  // namespace ptyche
