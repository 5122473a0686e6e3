// Free space over a short distance.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/data/geometry.h"

namespace ptyche {

/// No wavelength: the far field, in whoever takes these options to know where the detector is.
struct NearFieldOptions {
  double wavelength_m = 0;  ///< > 0
  double pixel_m = 0;       ///< pitch of the waves' pixels, both directions, > 0
  double distance_m = 0;    ///< along the beam; negative goes back
};

/// Of a near-field geometry, as in parallel light (geometry.h); none for a far-field one. Throws
/// InvalidInput naming the lengths that are missing.
NearFieldOptions near_field_of(const Geometry& geometry);

/// exp(...) of propagate_near_field for waves (rows, cols): complex128 in FFT order. Throws
/// InvalidInput for options out of range.
at::Tensor near_field_transfer(std::int64_t rows, std::int64_t cols,
                               const NearFieldOptions& options);

/// Waves after a distance z of free space, by the angular spectrum (Goodman, Introduction to
/// Fourier Optics, 3rd ed., ch. 3.10), sampled as the waves are and periodic on their frame:
///   FFT2 out = FFT2 in * exp(2 pi i z (sqrt(1 / lambda^2 - f^2) - 1 / lambda)).
/// The carrier exp(2 pi i z / lambda), which no intensity sees, is left out of all of them.
/// Evanescent waves (f > 1 / lambda, only with pixels below lambda / 2) have |z| instead of z
/// before their imaginary root, so that they decay in both directions: growing back would drown
/// everything in rounding errors. The frame is periodic: light wraps around where |z| is beyond
/// rows * pixel^2 / lambda.
///   waves  (..., rows, cols) complex, the zero of r at any index
/// Returns the waves' shape and type; phases are computed in float64. Linear; unitary, and then
/// with back_propagate_near_field as its inverse, where nothing is evanescent. Throws InvalidInput
/// for waves that are not complex images and for options out of range.
at::Tensor propagate_near_field(const at::Tensor& waves, const NearFieldOptions& options);

/// The adjoint: propagation over -z.
at::Tensor back_propagate_near_field(const at::Tensor& waves, const NearFieldOptions& options);

}  // namespace ptyche
