// How positions move along the slopes of the loss.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/data/scan.h"
#include "ptyche/solve/solver_options.h"

namespace ptyche {

/// The part of `moves` (n, 2) that a freedom allows, given positions (n, 2): `jitter` takes out the
/// shift and the 2 x 2 matrix that fit it best over the grid, `affine` the shift, `none` all of it.
at::Tensor allowed_moves(const at::Tensor& moves, const at::Tensor& positions,
                         PositionFreedom freedom);

/// Moves of all patterns of a scan, (frames, 2), from those of the used ones: theirs, and for the
/// others what the used grid as a whole does, by least squares of a shift and a 2 x 2 matrix.
at::Tensor moves_of_all(const Scan& scan, const at::Tensor& used, const at::Tensor& moves);

/// Second derivative of half the deviance by a position, about: 2 sum |dP/dr|^2 over the modes of a
/// probe (modes, N, N), by Parseval. What the object shares with the probe makes the true one less.
double position_curvature(const at::Tensor& probe);

/// Steps of positions between two looks at all patterns.
///   slopes      (n, 2) float64, the loss's gradient by each position, gathered since the last step
///   mean        (n, 2), what is remembered of earlier slopes; undefined at first; written
///   positions   (n, 2), where the patterns lie
///   curvature   position_curvature in the slopes' units
///   limit_px    no coordinate moves farther, but for the common shift that is taken out, > 0
/// Each pattern's own part follows Newton's direction, so many times longer that its root mean
/// square is half the limit, but at most kLargestGain times: what neither object nor pattern tells
/// (a patch without features) stays where it is. What the grid does as a whole adds up over all
/// patterns and is followed kGridGain times Newton's length, for the object that has formed under
/// the wrong grid resists it. Returns (n, 2).
at::Tensor position_step(const at::Tensor& slopes, at::Tensor& mean, const at::Tensor& positions,
                         double curvature, double limit_px, PositionFreedom freedom);

inline constexpr double kLargestGain = 100, kGridGain = 1000;

}  // namespace ptyche
