// Sums over the patches that patterns see, which are the curvatures by which solvers scale their
// steps, and the prior that smooths the object where these are small.
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

/// Photons that fall on an object pixel in the whole scan, mean over the lit ones.
double mean_light(const SolverProblem& problem, const SolverState& state);

/// Negative logarithm of a Gaussian prior, sum |O(x) - O(x + 1)|^2 / (2 slope^2) over rows and
/// columns, and its gradient (dL/dRe + i dL/dIm) added to `gradient` times `share`.
///   object, gradient  (rows, cols) complex64, the gradient contiguous
///   slope             root mean square change of the object from pixel to pixel, > 0
/// Returns the value times `share`.
double add_smoothness(const at::Tensor& object, double slope, double share, at::Tensor& gradient);

/// The prior's curvature is 8 / (2 slope^2) or less, that of the counts 2 `light` where `light`
/// photons per pixel fall: whether the prior is more than a percent of it.
bool smoothness_matters(double slope, double light);

}  // namespace ptyche
