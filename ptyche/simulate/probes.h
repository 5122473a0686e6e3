// Probes with known shape for simulated scans, and the one for scans that bring none.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ptyche {

/// Zernike polynomial of Noll index j >= 1 (Noll, J. Opt. Soc. Am. 66, 207 (1976), eq. 2 and table
/// I: 1 piston, 2 and 3 tilts, 4 defocus, 5 and 6 astigmatism, 7 and 8 coma, 9 and 10 trefoil, 11
/// spherical), whose mean square over the unit disc is 1. Even j go with cos(m angle), odd with
/// sin.
///   radius  any shape float64, in units of the lens's rim; beyond 1 the polynomial goes on
///   angle   the same shape, rad, from the columns' direction towards growing rows
at::Tensor zernike(std::int64_t noll, const at::Tensor& radius, const at::Tensor& angle);

/// A disc with a soft edge: the points of a Gaussian w(r) w(c), w(i) = exp(-(i - (N - 1) / 2)^2 /
/// (2 s^2)) over its maximum, s = N / (0.7 pi^2), that are above 1/2, blurred by a Gaussian of 1
/// px, plus 1e-9 (so that no pixel is quite dark). Centred between pixels, at (N - 1) / 2. Returns
/// (N, N) float64, dimensionless near 1; size >= 8. Its power is set by calibrate_probe_to_mean
/// (PtychoPINN's way) or calibrate_probe (data/probe.h, to counts).
at::Tensor default_probe(std::int64_t size);

/// The shapes:
/// - defocused: what a lens behind a round aperture gives out of focus. Its far field is a disc of
///   radius `aperture` with a soft edge and the phase of free space over the defocus. In focus
///   it is 2 px wide (half maximum); at defocus 1 the aperture's shadow, by ray optics, is
///   `diameter_px` wide, and a disc of that diameter holds about 90 % of the power.
/// - disk: a pinhole in contact, flat in amplitude and phase, its edge soft over about 2 px.
/// - gaussian: flat in phase, its amplitude `diameter_px` wide at 1/e of the peak.
/// - zernike: the defocused one through a lens with the aberrations `zernike_rad`.
/// - ptychopinn: the disc of default_probe, centred half a pixel before (N/2, N/2); it knows no
///   diameter.
struct ProbeOptions {
  std::string shape = "defocused";
  std::int64_t pattern_size = 64;  ///< N, even, >= 8
  double diameter_px = 22;  ///< 2 to N / 2, after defocus too, so that the tails stay inside N
  double defocus = 1;       ///< of the default one; its sign is its direction; lenses only
  double photons = 1e5;     ///< sum of |probe|^2, > 0
  /// `zernike` only: root mean squares over the aperture of the aberrations with Noll index 4, 5, 6
  /// ... (zernike; astigmatism 5, 6, coma 7, 8, trefoil 9, 10, spherical 11), at most 30 of them;
  /// the far field's phase is their sum
  std::vector<double> zernike_rad = {};
  double aperture = 0.25;  ///< of a lens, radius in cycles/px, 0.02 to 0.5
  double stop = 0;  ///< of a lens: radius of a dark disc in its middle over that of the aperture,
                    ///< 0 to 0.9, as in front of a zone plate
};

/// (1, N, N) complex64, unit sqrt(photon), centred on pixel (N/2, N/2).
/// Throws InvalidInput for options out of range, and for aberrations that throw more than 1 % of
/// the light out of the central 3/4 of the frame.
at::Tensor make_probe(const ProbeOptions& options);

/// The same without the refusal of aberrations, for who looks where the light has gone: the share
/// of a probe's light that is outside the central 3/4 of its frame, 0..1.
at::Tensor make_any_probe(const ProbeOptions& options);
double light_outside(const at::Tensor& probe);

}  // namespace ptyche
