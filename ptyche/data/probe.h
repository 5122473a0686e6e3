// The probe carries the photons: its power is set once, from the counts, when a scan is loaded.
#pragma once

#include <ATen/ATen.h>

#include <string>

namespace ptyche {

/// sum_m |P_m|^2 of modes (..., modes, N, N) complex: (..., N, N) real. Of a probe it is the
/// photons of each pixel, of waves at the detector the expected counts. Differentiable.
at::Tensor mode_power(const at::Tensor& modes);

/// Photons per pattern that the probe brings, the sum over modes and pixels of |P|^2.
double probe_power(const at::Tensor& probe);

/// Mean of counts^power over the given patterns, (N, N) float64: the mean pattern, or with power
/// 1/2 the mean amplitude. Counts are read in batches, never as one float copy.
///   counts  (n, N, N) any real type
///   frames  (k) int64, k >= 1
at::Tensor mean_pattern(const at::Tensor& counts, const at::Tensor& frames, double power = 1);

/// The probe scaled by one real factor so that an empty sample would give, in the counted pixels,
/// the mean counts of the given frames: sum over modes and unmasked pixels of |FFT2 P|^2 (unitary).
/// With photons > 0 instead so that sum |P|^2 = photons.
///   probe   (modes, N, N) complex64, zero frequency of its far field at (N/2, N/2)
///   counts  (n, N, N) any real type, zero frequency at (N/2, N/2)
///   mask    (N, N) bool, true = counted
///   frames  (k) int64, the used frames, k >= 1
/// Throws InvalidInput when the probe or the patterns have no power in the counted pixels.
at::Tensor calibrate_probe(const at::Tensor& probe, const at::Tensor& counts,
                           const at::Tensor& mask, const at::Tensor& frames, double photons);
/// The same, to the frames' mean_pattern (N, N), which is not looked at with photons > 0.
at::Tensor calibrated_to(const at::Tensor& probe, const at::Tensor& mean, const at::Tensor& mask,
                         double photons);

/// The probe (modes, N, N) complex for a detector of size x size pixels around the zero frequency,
/// any N, size even: its far field is cut, or goes on with zeros. Unitary transforms of the two
/// sizes keep the power of what is left; complex64.
at::Tensor probe_for_size(const at::Tensor& probe, std::int64_t size);

/// What stands in for a probe where a file has none, (1, N, N) complex64, its power not calibrated:
/// the square root of the given frames' mean with a flat phase, the inverse FFT of it for the far
/// field (so that it is in focus), itself where the detector is near.
at::Tensor probe_of_mean_pattern(const at::Tensor& counts, const at::Tensor& mask,
                                 const at::Tensor& frames, bool near_field = false);
/// The same of their mean_pattern (N, N).
at::Tensor probe_of_mean(const at::Tensor& mean, const at::Tensor& mask, bool near_field);

/// Where `light` (any shape, >= 0) is above `share` of its largest value: the one rule for lit
/// pixels, bool of the same shape.
at::Tensor lit_pixels(const at::Tensor& light, double share);

/// The shares. What a little light is enough for differs: a merge inside a loss may divide by all
/// that is not rounding, for where it says 1 the patches get no gradient; an image must not show
/// pixels that only noise has drawn; a network learns and a score judges where patterns say much.
inline constexpr double kLitToMerge = 1e-10;  ///< merges of groups, objects of solvers
inline constexpr double kLitToShow = 1e-6;    ///< stitched images
inline constexpr double kLitToLearn = 0.01;   ///< supervised networks
inline constexpr double kLitToJudge = 0.1;    ///< scores, mean light under solvers

/// Diameter in pixels of the disc around the probe's centre of mass that holds 90 % of its power.
///   probe  (modes, N, N) complex, with power
double probe_diameter_px(const at::Tensor& probe);

/// How like the first modes of two probes (modes, N, N) with power are at the best shift, 0..1:
/// |sum A conj B| over the roots of their powers.
double likeness_of_probes(const at::Tensor& one, const at::Tensor& other);

/// conj P(-r) of a probe (modes, N, N), about the pixel (N/2, N/2).
at::Tensor twin_of_probe(const at::Tensor& probe);

/// How like the first mode of a probe is to its twin, conj P(-r): |sum F^2| / sum |F|^2 of its far
/// field F at the best shift, for the twin's is conj F. 1 in focus, whatever the aperture's shape;
/// below .5 in curved or aberrated light. From kOwnTwin on no pattern tells an image O from its
/// twin, conj O(-r) at positions turned by 180 degrees.
///   probe  (modes, N, N) complex, with power
double likeness_to_twin(const at::Tensor& probe);
inline constexpr double kOwnTwin = 0.8;

/// Median distance in pixels from a place to the nearest other one (several exposures of a place
/// are one), asked of at most 2000 positions all over the list. 0 where all are at one place.
///   positions  (n, 2) float64
double median_step_px(const at::Tensor& positions);

/// The power of ten of a unit of length (mm, um, nm, Angstrom, pm in metres, or the other way
/// round) that alone brings a step between neighbours to .03 to .95 of the probe's diameter (.06 to
/// .85 on good scans). 0 where none does, or where another unit would bring it to .01 to 1:
/// nanometres and Angstrom are rarely told apart.
int only_power_of_ten(double step, double diameter);

/// The units that would do for positions that were read as metres, as they are typed: "--positions
/// X*nm,Y*nm or X*A,Y*A"; where none would, the same with X*um.
std::string units_to_type(double step, double diameter);

}  // namespace ptyche
