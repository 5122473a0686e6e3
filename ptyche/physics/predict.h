// The forward model as one chain: extract, exit wave, propagate, measure.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/data/interpolation.h"
#include "ptyche/physics/near_field.h"

namespace ptyche {

/// Intensities that a whole object predicts at positions.
///   object      (rows, cols) complex
///   probe       (modes, N, N) complex, sqrt(photon)
///   positions   (k, 2) float64, (row, col) of the object index under probe pixel (N/2, N/2); a
///               patch that leaves the object is an InvalidInput
///   background  (N, N) counts in FFT order, or undefined
///   near        where the detector is, see to_detector
/// Returns (k, N, N) counts in FFT order. Differentiable in object, probe and background.
at::Tensor predict_intensity(const at::Tensor& object, const at::Tensor& probe,
                             const at::Tensor& positions, Interpolation interpolation,
                             const at::Tensor& background, const NearFieldOptions& near = {});

}  // namespace ptyche
