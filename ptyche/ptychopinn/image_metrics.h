// The numbers of an image beside a truth under the names of the grid workflow, and next to them the
// ones that can be trusted.
#pragma once

#include <string>
#include <vector>

namespace ptyche {

/// What PtychoPINN's evaluation says of one real quantity, amplitude or phase
/// (evaluate/original_metrics.h has the definitions). NaN = not defined for this pair.
struct OriginalNumbers {
  double mae = 0, mse = 0;          ///< of the quantity; radians and their square for the phase
  double psnr = 0;                  ///< dB over a peak of 255
  double ssim = 0, ms_ssim = 0;     ///< 1 = identical
  double frc50 = 0, frc1over7 = 0;  ///< rings (pixels of the spectrum)
  std::vector<double> frc = {};     ///< one per ring, corners included
};

struct OriginalMetrics {
  OriginalNumbers amplitude, phase;
};

/// What is left after one joint alignment (shift, phase ramp, complex scale). NaN where the truth
/// is constant.
struct AlignedMetrics {
  double nrmse_contrast = 0;  ///< complex, over the truth's deviation from its mean; flat = 1
  /// dB over the truth's own range; infinite where no error is left
  double psnr_amplitude = 0, psnr_phase = 0;
};

struct ImageMetrics {
  OriginalMetrics original;
  AlignedMetrics aligned;
};

/// An image's numbers and those of an object of ones in its place.
struct MetricsBesideFlat {
  ImageMetrics image, flat;
};

struct LabelledMetrics {
  std::string label;  ///< e.g. "pinn"
  MetricsBesideFlat metrics;
};

}  // namespace ptyche
