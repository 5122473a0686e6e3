// Distances of an aligned image from the truth, as a whole, in tiles and ring by ring, and a guess
// beside them.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <vector>

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

/// Of all pixels of an image of any shape, in double precision: what they are in the mean, and the
/// root mean square of their amplitudes and of their distance from the mean. Of no pixels: zeros.
struct PixelMoments {
  c10::complex<double> mean = 0;
  double amplitude = 0, deviation = 0;
};
PixelMoments pixel_moments(const at::Tensor& image);

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

/// Sums over the rings of the spectra A and B of two n x n images, one per ring, float64. A pixel
/// of the spectrum belongs to the ring of its rounded radius (the root of a whole number is never
/// half-way); the rings go out into the corners, to n / sqrt 2.
struct RingSums {
  at::Tensor agreement;         ///< Re sum A conj(B)
  at::Tensor power_a, power_b;  ///< sum |A|^2, sum |B|^2
  at::Tensor pixels;
};

/// a, b: (n, n) real or complex, n >= 1.
RingSums ring_sums(const at::Tensor& a, const at::Tensor& b);

/// The ring from `first` on at which `excess` (correlation less threshold) falls below 0, by linear
/// interpolation from the ring before; `first` where it is below there already, excess.size() where
/// it never falls. Rings without a value (NaN) are skipped, as PtychoPINN does, and the
/// interpolation starts from the last one that has a value; NaN where none after `first` has one.
double falling_ring(const std::vector<double>& excess, std::size_t first);

/// Fourier ring correlation of two complex images (rows, cols) of one shape (Saxton & Baumeister,
/// J. Microsc. 127, 127 (1982)): real part of sum A conj(B) over sqrt(sum |A|^2 sum |B|^2). The
/// images are cut to their first n x n pixels, made mean free, and their edges faded by sin^2 over
/// n/8 pixels. Thresholds (van Heel & Schatz, J. Struct. Biol. 151, 250 (2005), eq. 17), with m the
/// ring's pixels times the share of them that the fade leaves independent:
///   half-bit  (0.2071 + 1.9102/sqrt m) / (1.2071 + 0.9102/sqrt m)
///   1-bit     (0.5 + 2.4142/sqrt m) / (1.5 + 1.4142/sqrt m)
/// Throws InvalidInput for different shapes or n < 8.
RingCorrelation fourier_ring_correlation(const at::Tensor& a, const at::Tensor& b);

/// The frequency in cycles per pixel at which the correlation first falls below `threshold`, by
/// linear interpolation between rings; rings 0..3 hold too few pixels and are passed over. The last
/// ring's frequency where it never does. Half the period is 0.5 / f pixels.
double crossing(const RingCorrelation& rings, double threshold);
double half_bit_crossing(const RingCorrelation& rings);  ///< the same for the half-bit threshold
double one_bit_crossing(const RingCorrelation& rings);   ///< the same for the 1-bit threshold

/// All four.
RingCrossings crossings(const RingCorrelation& rings);

}  // namespace ptyche
