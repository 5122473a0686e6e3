// How far out of focus a scan was taken, from its patterns alone: out of focus each pattern holds a
// shadow image of the sample, and from one position to the next the shadow moves.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

namespace ptyche {

/// The lit part of the detector.
///   lit     (N, N) bool, by the mean pattern
///   row, col  its centre of light, detector pixels, zero frequency at (N/2, N/2)
struct Aperture {
  at::Tensor lit;
  double radius_px = 0;  ///< of the disc of its area
  double row = 0, col = 0;
};

/// Of a mean pattern (N, N) float64, whose counted pixels `mask` (N, N) bool tells.
Aperture aperture_of(const at::Tensor& mean, const at::Tensor& mask);

/// Below this nothing is looked for in its shadows.
inline constexpr double kLeastAperture_px = 5;

/// Standard errors above which shadows are taken for those of the sample.
inline constexpr double kLeastStrength = 4;

/// What differs from the mean pattern, in units of its noise, without its changes broader than half
/// the aperture, over its standard deviation: (n, N, N) float32, 0 outside the aperture.
at::Tensor shadow_details(const at::Tensor& counts, const at::Tensor& mean,
                          const Aperture& aperture);

/// A defocus c, of the probe whose far field has the phase c |q|^2, q = 1 at the detector's edge,
/// and by how many standard errors the shadows speak for it.
struct ShadowPeak {
  double defocus = 0, strength = 0;
};

/// With the far field's phase c |q|^2 the ray through detector pixel k lands at -4 c k / (pi N) on
/// the sample, so that from one position to another the shadow moves by kappa (r_k - r_j) detector
/// pixels, kappa = pi N / (4 c). For many kappas of both signs the correlation of neighbouring
/// patterns, each less the mean pattern, in units of the photon noise, without its broad changes,
/// is summed at that move. Its peaks, strongest first, at most `most`; none where the aperture is
/// smaller than 5 px. Near focus and with spherical aberration they lie too far out, by up to 5.
///   counts     (n, N, N) float32, zero frequency at (N/2, N/2), n >= 3
///   positions  (n, 2) float64, object pixels
///   odd        only what moves: the odd part of each correlation, c(s) - c(-s), in which beam and
///              aperture, being even, drop out. Sees dense scans; near focus it has false peaks.
/// The same on any number of threads.
std::vector<ShadowPeak> defoci_from_shadows(const at::Tensor& counts, const at::Tensor& positions,
                                            const at::Tensor& mean, const Aperture& aperture,
                                            bool odd, std::size_t most = 2);

}  // namespace ptyche
