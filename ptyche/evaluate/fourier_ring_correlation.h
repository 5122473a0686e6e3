// Up to which spatial frequency two images agree.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "ptyche/data/scores.h"

namespace ptyche {

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
/// it never falls, NaN where it meets a NaN first.
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
