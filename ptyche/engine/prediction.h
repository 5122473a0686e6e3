// What an object foretells of patterns, for scores and pictures.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/data/reconstruction.h"
#include "ptyche/physics/forward_model.h"

namespace ptyche {

/// predict_intensity of one whole object (forward_model.h) by the fused engine, and by LibTorch's
/// operations where that does not cover the patterns' size.
///   object      (rows, cols) complex64 or complex128
///   probe       (modes, N, N) complex, sqrt(photon); taken in the object's precision
///   positions   (k, 2) float64, (row, col) of the object index under probe pixel (N/2, N/2)
///   background  (N, N) counts in FFT order, or undefined
/// Returns (k, N, N) counts in FFT order, of the object's precision; not differentiable. Throws
/// InvalidInput for a pattern that leaves the object.
at::Tensor expected_intensity(const at::Tensor& object, const at::Tensor& probe,
                              const at::Tensor& positions, Interpolation interpolation,
                              const at::Tensor& background, const Propagation& propagation);

}  // namespace ptyche
