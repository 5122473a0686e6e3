// How well a reconstruction predicts patterns: R-factor and Poisson deviance, with their floors.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/data/scores.h"

namespace ptyche {

/// Fit of the image's prediction to `frames` (k) int64, k >= 1, at the image's own positions where
/// these are of this scan, else at the scan's.
/// use_mask: leave out pixels that the scan's mask excludes (peers' numbers were made without).
/// Intensities are clipped below at 0.01 count in the deviance only.
DataFit data_fit(const Reconstruction& image, const Scan& scan, const at::Tensor& frames,
                 bool use_mask);

/// The fit of the used frames' mean amplitude, squared, and of their mean pattern, to `frames`.
TrivialFit trivial_fit(const Scan& scan, const at::Tensor& frames, bool use_mask);

}  // namespace ptyche
