// How much light falls where, and the incoherent modes of a probe.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "ptyche/solve/problem.h"

namespace ptyche {

/// Adds `image` (N, N) float32 to an empty canvas at every corner (k, 2) int64: (rows, cols). All
/// arrays here are contiguous, and all patches lie on the canvas.
at::Tensor spread_at(const at::Tensor& image, const at::Tensor& corners, std::int64_t rows,
                     std::int64_t cols);

/// The sum of |O|^2, or of conj(a) b, over the patches of canvases (rows, cols) complex64 at the
/// corners: (size, size).
at::Tensor gathered_power(const at::Tensor& canvas, const at::Tensor& corners, std::int64_t size);
at::Tensor gathered_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& corners,
                            std::int64_t size);

/// Photons of the probe that fall on each pixel of the canvas in the whole scan: (rows, cols)
/// float32.
at::Tensor light_on_object(const SolverProblem& problem, const SolverState& state);

/// Photons that fall on an object pixel in the whole scan, mean over the lit ones.
double mean_light(const SolverProblem& problem, const SolverState& state);

/// Of the used patterns' counted light, the share in pixels whose opposite about the zero frequency
/// the mask hides. Where that is much, waves of the object are not seen whose light falls on the
/// hidden side alone: no start and no redrawn pattern shows what of them is missing.
double one_sided_light(const Scan& scan);
/// What is much. Half the detector dead: 1.0 | symmetric masks: 0.
inline constexpr double kOneSidedLight = 0.3;

/// How far `object` is from `before`, two canvases of one shape, over its contrast: root mean
/// square of the difference, weighed by the light on each pixel, after `before` has got the factor
/// that fits best, over that of the deviation from the mean. 0 for a flat object. Long waves of the
/// phase, which no deviance shows, count like all others.
double image_movement(const SolverProblem& problem, const SolverState& state,
                      const at::Tensor& before);

/// What is expected of the object's changes from pixel to pixel.
struct SmoothnessPrior {
  double slope = 0.1;    ///< root mean square of them, > 0
  double stiffness = 1;  ///< of the amplitude over that of the phase, >= 0
  double edge = 0;       ///< changes above it are edges and cost less; 0 = none are
  /// Change of ln |O| that goes with one of the phase by 1 rad: the amplitude is stiff against what
  /// differs from it. Of a sample of one material it is beta / delta (whose sign is that of the
  /// phases); 0 = they have nothing in common.
  double absorption = 0;
};

/// Negative logarithm of the prior. Without edges it is Gaussian, over rows and columns
///   sum [ |O(x) - O(x + 1)|^2 + (stiffness - 1) a(x)^2 ] / (2 slope^2),
///   a(x) = |O(x + 1)| - |O(x)| - absorption A(x) (arg O(x + 1) - arg O(x)),
/// A(x) the mean of the two amplitudes and the phase's change taken from -pi to pi;
/// with them, with q the sum of a pixel's two |O(x) - O(x + 1)|^2, their part of it is
///   sum (edge / slope)^2 [ sqrt(1 + q / edge^2) - 1 ],
/// total variation that is smoothed near 0 (the hypersurface potential of Charbonnier et al. 1997,
/// IEEE Trans. Image Process. 6, 298). Its gradient (dL/dRe + i dL/dIm) is added to `gradient`
/// times `share`.
///   object, gradient  (..., rows, cols) complex64, the gradient contiguous
/// Returns the value times `share`.
double add_smoothness(const at::Tensor& object, const SmoothnessPrior& prior, double share,
                      at::Tensor& gradient);

/// The absorption that an object (rows, cols) complex64 shows where it is lit, (rows, cols) bool:
/// of its changes from pixel to pixel, those of the amplitude as a multiple of those of the phase,
/// by least squares; 0 for an object without phases.
double absorption_of(const at::Tensor& object, const at::Tensor& lit);

/// The curvature of that prior by one pixel: 4 / slope^2, from its four neighbours; less at edges.
double smoothness_curvature(double slope);

/// The prior's curvature is 8 / (2 slope^2) or less, that of the counts 2 `light` where `light`
/// photons per pixel fall: whether the prior is more than a percent of it.
bool smoothness_matters(double slope, double light);

/// The same patterns with the photons of `power` in the probe: what the probe gains or loses, the
/// object does not have. Nothing where the probe has no light.
void share_power(SolverState& state, double power);

/// The part of the probe's gradient that does not change the probe's power:
/// g - P Re<P, g> / <P, P>. A larger probe and a smaller object give the same patterns, and a prior
/// that likes small objects would go on for ever along that line.
at::Tensor at_equal_power(const at::Tensor& gradient, const at::Tensor& probe);

/// `probe` (m, N, N) with weak modes added up to `modes`: the first mode times row, col, row col,
/// then higher powers of the two coordinates, in that order; each carries the share `power` of the
/// first mode's photons. The sum of all photons stays. Modes beyond `modes` are dropped.
at::Tensor with_modes(const at::Tensor& probe, std::int64_t modes, double power);

/// The same intensities by modes that are orthogonal to each other, strongest first: singular value
/// decomposition of (modes, N^2) (Thibault & Menzel, Nature 494, 68 (2013)); the first mode's phase
/// is kept.
at::Tensor orthogonal_modes(const at::Tensor& probe);

}  // namespace ptyche
