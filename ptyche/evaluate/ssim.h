// Structural similarity.
#pragma once

#include <ATen/ATen.h>

#include <optional>

namespace ptyche {

/// How the neighbourhood of a pixel is weighed.
struct SsimWindow {
  at::Tensor weights;          ///< (n odd) float64 along both axes, sum 1
  double variance_factor = 1;  ///< of variances and covariance: m / (m - 1) for those of a sample
};

/// Mean structural similarity of two real images (rows, cols) float64 of one shape (Wang et al.,
/// IEEE Trans. Image Process. 13, 600 (2004), eqs. 13 and 17), K = (0.01, 0.03), over the pixels
/// whose window lies in the image. 1 = identical. NaN for 0 / 0 (range 0 and both constant).
/// Throws InvalidInput for images smaller than the window.
double ssim(const at::Tensor& truth, const at::Tensor& image, const SsimWindow& window,
            double range);

/// The same as that paper has it: 11 x 11 Gaussian window of sigma 1.5, data range = maximum less
/// minimum of `truth`. Absent where the truth is constant (range below 1e-9 of its largest
/// magnitude).
std::optional<double> ssim(const at::Tensor& truth, const at::Tensor& image);

}  // namespace ptyche
