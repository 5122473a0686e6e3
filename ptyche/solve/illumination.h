// Sums over the places that patterns see: the curvatures by which solvers scale their steps.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "ptyche/solve/solver_problem.h"

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

/// |x|^2 of a complex array, real; `summed` over its first axis (probe modes).
at::Tensor power_of(const at::Tensor& values);
at::Tensor summed_power(const at::Tensor& modes);

/// The sum of |x|^2 of a probe, all modes together.
double photons(const at::Tensor& probe);

/// Photons that fall on an object pixel in the whole scan, mean over the lit ones.
double mean_light(const SolverProblem& problem, const SolverState& state);

}  // namespace ptyche
