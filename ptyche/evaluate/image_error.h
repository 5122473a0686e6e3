// Distances of an aligned image from the truth, as a whole and in tiles, and a guess beside them.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "ptyche/data/scores.h"

namespace ptyche {

/// |truth - image| / |truth|, complex, 2-norm. A flat image scores low where the truth is nearly
/// flat.
double nrmse(const at::Tensor& truth, const at::Tensor& image);

/// |truth - image| / |truth - mean of truth|: the best constant image scores 1. Infinite or not a
/// number for a constant truth.
double nrmse_contrast(const at::Tensor& truth, const at::Tensor& image);

/// Root mean square of |truth| - |image|.
double amplitude_rmse(const at::Tensor& truth, const at::Tensor& image);

/// Phase of the image less that of the truth in (-pi, pi], radians: (rows, cols) float64.
at::Tensor phase_difference(const at::Tensor& truth, const at::Tensor& image);

/// Root mean square of phase_difference over the pixels where the truth is not 0, radians.
double phase_rmse_rad(const at::Tensor& truth, const at::Tensor& image);

/// Root mean square over whole blocks of 16 x 16 pixels (from pixel (0, 0)) of each block's mean
/// phase error, the angle of sum image conj(truth), radians: fine structure and noise cancel in a
/// block, a slow drift does not. Both at least 16 x 16.
double low_frequency_phase_rad(const at::Tensor& truth, const at::Tensor& image);

/// Phases about that of the mean, (-pi, pi], radians: (rows, cols) float64.
at::Tensor centred_phase(const at::Tensor& image);

/// Largest less smallest of real `values` (any shape, not empty).
double range_of(const at::Tensor& values);

/// Whether the image departs from its mean by at most 1e-9 of its norm.
bool is_constant(const at::Tensor& image);

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

/// nrmse_contrast of the tiles of 32 x 32 pixels that fit into `window`, in its middle, each with a
/// gauge of its own (shift, ramp, scale) fitted from `start`; tiles where the truth is constant are
/// passed over. truth and image (rows, cols) complex128, of any two shapes. Nothing if no tile is
/// left. An image of the truth with a slow drift of phase or position scores well here and badly as
/// a whole: the two numbers are to be read together.
std::optional<TileError> tile_error(const at::Tensor& truth, const at::Tensor& image,
                                    const Window& window, const Gauge& start);

/// The complex image (rows, cols) blurred by a Gaussian of sigma = 1 pixel, continued beyond its
/// border by the border's values: complex128 of the same shape.
at::Tensor blurred_by_one_px(const at::Tensor& image);

}  // namespace ptyche
