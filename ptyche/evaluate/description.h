// Whether an image describes patterns at all: two numbers that a wrong geometry or pure noise
// cannot pass.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"

namespace ptyche {

/// What the image leaves in `used` (k) int64 above photon noise, per photon, over what their mean
/// pattern leaves in `others` (j) int64 above the same noise. Every expected pattern, the mean one
/// too, is scaled to the measured total first: a beam that changes is nobody's merit or fault.
/// 0 = all is described, 1 = no better than the mean pattern. Masked pixels do not count.
double misfit(const Reconstruction& image, const Scan& scan, const at::Tensor& used,
              const at::Tensor& others);

/// Of each of `frames` (k) int64, per photon: what the image leaves above photon noise, and what
/// the mean pattern of the used ones leaves above the same noise, scaled as above. (k, 2) float64.
at::Tensor left_of_each(const Reconstruction& image, const Scan& scan, const at::Tensor& frames);

/// Those of `frames` (k) int64 that the image describes hardly better than the mean pattern does,
/// and far worse than it describes the others: (j) int64. None where they are so many that nothing
/// says which part is right, or the image describes none well.
at::Tensor misfitting(const Reconstruction& image, const Scan& scan, const at::Tensor& frames);

/// Correlation over `frames` (k) int64 of (n - mean) with (expected - mean), each over
/// sqrt(mean + 1/2), the mean pattern being that of the scan's used patterns and all scaled to the
/// measured totals: how much of what makes a pattern different the image foretells. 0 = nothing,
/// 1 = everything and no noise.
double told(const Reconstruction& image, const Scan& scan, const at::Tensor& frames);

}  // namespace ptyche
