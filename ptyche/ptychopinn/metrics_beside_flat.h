// The original's numbers of an image, the honest ones beside them, and both of an image that knows
// nothing.
#pragma once

#include "ptyche/ptychopinn/original_metrics.h"

namespace ptyche {

/// What is left of `image` after it is brought onto `truth` by one joint gauge (evaluate/align.h),
/// both (rows, cols) complex of one shape, `trim_px` on each side left out; at least 8 px a side
/// stay.
///   psnr = 20 log10(range / rms)   dB
/// over the truth's own range: of the amplitude its maximum less its minimum, of the phase likewise
/// about the phase of the truth's mean (2 pi would flatter every weak phase). NaN where the truth
/// is constant: range below 1e-6 of the largest amplitude, 1e-6 rad. Phase errors are taken on the
/// circle. Throws InvalidInput as `align` does.
AlignedMetrics aligned_metrics(const at::Tensor& truth, const at::Tensor& image,
                               std::int64_t trim_px);

/// Both kinds of numbers over the same pixels, of `image` and of an object of ones. Throws
/// InvalidInput as `original_metrics` does.
MetricsBesideFlat metrics_beside_flat(const at::Tensor& truth, const at::Tensor& image,
                                      const OriginalMetricsOptions& options = {});

}  // namespace ptyche
