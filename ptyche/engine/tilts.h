// How the patterns of an object ask their exit waves to be tilted.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/engine/loss.h"

namespace ptyche {

/// Below this an expected amplitude counts as its root, in counts: where nothing is expected, the
/// change of the amplitude by a tilt has no end.
inline constexpr double kLeastTilted = 0.05;

/// Of m patterns, with amplitudes a = sqrt(counts) and A = sqrt(expected), dA what d psi = i r psi
/// makes of A, r the distance from pixel N/2 along rows [0] and columns [1], px.
struct Tilts {
  at::Tensor asked;  ///< (m, 2) float64, sum over counted pixels of (a - A) dA
  at::Tensor power;  ///< (m, 2) float64, that of dA^2, px^2 counts
  at::Tensor light;  ///< (m, N, N) real, |psi|^2 summed over the modes, row-major real space
};

/// Far field, of one whole object, each pattern's probe moved to its place between pixels; by the
/// reference engine on other devices than the CPU and where the fused one does not cover the
/// patterns' size, whatever `engine` says.
///   object   (rows, cols) complex64 or complex128
///   probe    (modes, N, N) complex, sqrt(photon)
///   corners  (m, 2) float64, (row, col) of the object index under probe pixel (0, 0)
/// Throws InvalidInput for a pattern that leaves the object, or for arrays of other shapes.
Tilts exit_tilts(const at::Tensor& object, const at::Tensor& probe, const at::Tensor& corners,
                 const Measured& measured, Engine engine = Engine::fused);

}  // namespace ptyche
