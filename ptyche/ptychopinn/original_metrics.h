// PtychoPINN's evaluation numbers, as its `eval_reconstruction` computes them.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "ptyche/ptychopinn/image_metrics.h"

namespace ptyche {

enum class PhaseAlignment {
  plane,  ///< each phase less its own least-squares plane
  mean,   ///< each phase less its own mean
};

struct OriginalMetricsOptions {
  std::int64_t trim_px = 2;  ///< left out on each side, >= 0
  PhaseAlignment phase = PhaseAlignment::plane;
  double frc_sigma = 0;  ///< Gaussian blur of the curves before their crossings, rings; 0 = none
  double ms_ssim_sigma = 1;  ///< Gaussian blur of the amplitudes before ms_ssim, px; 0 = none
};

/// Real values (rows, cols) float64 less the plane a row + b col + c that lies nearest to them in
/// least squares.
at::Tensor without_plane(const at::Tensor& values);

/// All numbers of `image` against `truth`, both (n, n) complex of one shape, computed in float64;
/// n - 2 trim_px >= 8. Both are trimmed; the image's amplitude is scaled to the truth's mean;
/// phases are angles in (-pi, pi], never unwrapped, then aligned. For comparison with published
/// tables only, because:
/// - amplitude and phase are judged apart, each under a gauge of its own, and the truth's own phase
///   plane is removed too, where one joint gauge would do (evaluate/align.h); a wrapped phase
///   counts as an error of 2 pi, and shift is not undone.
/// - psnr = 20 log10(255 / rms) whatever the range is (OpenCV's default peak): 48.13 dB above that
///   of a unit peak, 361 dB for no error at all.
/// - ssim: 7 x 7 uniform window, sample covariance (scikit-image's default). The phase is mapped
///   from (-pi, pi) to (0, 1) with data range 1, whatever range it has: a flat image of a weak
///   phase scores near 1, of a truth without phase exactly 1.
/// - ms_ssim is the product of full ssim^w over five scales; the standard one (Wang et al., 2003)
///   multiplies contrast and structure only and low-passes before it decimates. A negative factor
///   counts as 1e-4, NaN as 0, and a scale below 7 px ends the product.
/// - frc: |sum A conj(B)| / sqrt(sum |A|^2 sum |B|^2), so that anticorrelation counts as agreement;
///   no mean removed, no fade of the edges; the rings of the corners, beyond the Nyquist frequency,
///   count. Ring 0, a single pixel, is always 1. A ring with less than 1e-26 of the power, rounding
///   alone, is NaN.
/// - frc50 and frc1over7 are where the curve first falls below 0.5 and 1/7, from ring 0 on
///   (falling_ring): 0 if ring 0 is below, the curve's length if it never falls, NaN where an
///   undefined ring comes first.
/// Throws InvalidInput, naming which image, for a shape that is not (n, n), differs or is too
/// small, and values that are not finite.
OriginalMetrics original_metrics(const at::Tensor& truth, const at::Tensor& image,
                                 const OriginalMetricsOptions& options = {});

}  // namespace ptyche
