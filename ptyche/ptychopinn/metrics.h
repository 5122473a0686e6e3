// The numbers of an image beside a truth: PtychoPINN's, under its names and with its definitions,
// and next to them the ones that can be trusted.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ptyche {

/// What PtychoPINN's evaluation says of one real quantity, amplitude or phase. NaN = not defined
/// for this pair.
struct PtychoPinnNumbers {
  double mae = 0, mse = 0;          ///< of the quantity; radians and their square for the phase
  double psnr = 0;                  ///< dB over a peak of 255
  double ssim = 0, ms_ssim = 0;     ///< 1 = identical
  double frc50 = 0, frc1over7 = 0;  ///< rings (pixels of the spectrum)
  std::vector<double> frc = {};     ///< one per ring, corners included
};

struct PtychoPinnMetrics {
  PtychoPinnNumbers amplitude, phase;
};

enum class PhaseAlignment {
  plane,  ///< each phase less its own least-squares plane
  mean,   ///< each phase less its own mean
};

struct PtychoPinnMetricsOptions {
  std::int64_t trim_px = 2;  ///< left out on each side, >= 0
  PhaseAlignment phase = PhaseAlignment::plane;
  double frc_sigma = 0;  ///< Gaussian blur of the curves before their crossings, rings; 0 = none
  double ms_ssim_sigma = 1;  ///< Gaussian blur of the amplitudes before ms_ssim, px; 0 = none
};

/// Real values (rows, cols) float64 less the plane a row + b col + c that lies nearest to them in
/// least squares.
at::Tensor without_plane(const at::Tensor& values);

/// All numbers of `image` against `truth` as PtychoPINN's `eval_reconstruction` computes them, both
/// (n, n) complex of one shape, in float64; n - 2 trim_px >= 8. Both are trimmed; the image's
/// amplitude is scaled to the truth's mean; phases are angles in (-pi, pi], never unwrapped, then
/// aligned. For comparison with published tables only, because:
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
///   (falling_ring): 0 if ring 0 is below, the curve's length if it never falls; rings
///   without a value are skipped, as PtychoPINN does; NaN where no ring but 0 has one.
/// Throws InvalidInput, naming which image, for a shape that is not (n, n), differs or is too
/// small, and values that are not finite.
PtychoPinnMetrics ptychopinn_metrics(const at::Tensor& truth, const at::Tensor& image,
                                     const PtychoPinnMetricsOptions& options = {});

/// What is left after one joint alignment (shift, phase ramp, complex scale). NaN where the truth
/// is constant.
struct AlignedMetrics {
  double nrmse_contrast = 0;  ///< complex, over the truth's deviation from its mean; flat = 1
  /// dB over the truth's own range; infinite where no error is left
  double psnr_amplitude = 0, psnr_phase = 0;
};

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

struct ImageMetrics {
  PtychoPinnMetrics ptychopinn;
  AlignedMetrics aligned;
};

/// An image's numbers and those of an object of ones in its place.
struct MetricsBesideFlat {
  ImageMetrics image, flat;
};

/// Both kinds of numbers over the same pixels, of `image` and of an object of ones. Throws
/// InvalidInput as `ptychopinn_metrics` does.
MetricsBesideFlat metrics_beside_flat(const at::Tensor& truth, const at::Tensor& image,
                                      const PtychoPinnMetricsOptions& options = {});

struct LabelledMetrics {
  std::string label;  ///< e.g. "pinn"
  MetricsBesideFlat metrics;
};

/// metrics.json: one JSON object with a member per label, in order. Each holds PtychoPINN's members
/// "mae", "mse", "psnr", "ssim", "ms_ssim", "frc50", "frc1over7" and "frc", all [amplitude, phase];
/// beside them "nrmse_contrast", "psnr_true_range" [amplitude, phase] and "flat": all of these but
/// "frc" for an object of ones. null for a number that is not finite. Throws InvalidInput for a
/// label that comes twice.
std::string metrics_json(const std::vector<LabelledMetrics>& models);

}  // namespace ptyche
