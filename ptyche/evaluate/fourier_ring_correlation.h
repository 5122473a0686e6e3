// Up to which spatial frequency two images agree.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace ptyche {

/// One value per ring of whole-number radius 0..n/2, where n is the images' shorter side.
struct RingCorrelation {
  std::vector<double> cycles_per_px;  ///< radius / n
  std::vector<double> correlation;    ///< -1..1; 0 where a ring of either image is empty
  std::vector<double> half_bit;       ///< half-bit threshold of the ring
};

/// Fourier ring correlation of two complex images (rows, cols) of one shape (Saxton & Baumeister,
/// J. Microsc. 127, 127 (1982)): real part of sum A conj(B) over sqrt(sum |A|^2 sum |B|^2). The
/// images are cut to their first n x n pixels, made mean free, and their edges faded by sin^2 over
/// n/8 pixels. Half-bit threshold: (0.2071 + 1.9102/sqrt m) / (1.2071 + 0.9102/sqrt m) (van Heel &
/// Schatz, J. Struct. Biol. 151, 250 (2005), eq. 17), with m the ring's pixels times the share of
/// them that the fade leaves independent.
/// Throws InvalidInput for different shapes or n < 8.
RingCorrelation fourier_ring_correlation(const at::Tensor& a, const at::Tensor& b);

/// The frequency in cycles per pixel at which the correlation first falls below `threshold`, by
/// linear interpolation between rings; rings 0..3 hold too few pixels and are passed over. The last
/// ring's frequency where it never does. Half the period is 0.5 / f pixels.
double crossing(const RingCorrelation& rings, double threshold);
double half_bit_crossing(const RingCorrelation& rings);  ///< the same for the half-bit threshold

}  // namespace ptyche
