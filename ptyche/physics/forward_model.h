// The forward model: from probe and object to the counts that a detector expects.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/data/reconstruction.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/physics/propagation.h"

namespace ptyche {

/// Exit waves psi = P O (Rodenburg & Faulkner, APL 85, 4795 (2004), eq. 1).
///   probe    (modes, N, N), or (k, modes, N, N) where it differs by pattern; complex, sqrt(photon)
///   patches  (k, N, N) complex
/// Returns (k, modes, N, N). Linear in each argument; the adjoint in the patches multiplies by
/// conj(P) and sums over modes. Throws InvalidInput naming both shapes.
at::Tensor exit_wave(const at::Tensor& probe, const at::Tensor& patches);

/// Expected counts I(q) = sum_m |Psi_m(q)|^2 + background(q): modes add incoherently (Thibault &
/// Menzel, Nature 494, 68 (2013), eq. 2).
///   waves       (k, modes, N, N) complex, FFT order
///   background  (N, N) counts >= 0 in FFT order, or undefined
/// Returns (k, N, N) in FFT order. Differentiable in both.
at::Tensor expected_counts(const at::Tensor& waves, const at::Tensor& background = {});

/// What the patterns of a layout see: extract, exit wave, propagate, measure.
///   canvases     (groups, rows, cols) complex
///   probe        (modes, N, N) complex of the same precision, sqrt(photon); under probe_fourier it
///                is moved by each pattern's fraction
///   background   (N, N) counts in FFT order, or undefined
/// Returns (m, N, N) counts in FFT order. Differentiable in canvases, probe, background and what
/// the layout is. Throws InvalidInput for a pattern that leaves its canvas.
at::Tensor predict_intensity(const at::Tensor& canvases, const at::Tensor& probe,
                             const CanvasLayout& layout, const at::Tensor& background,
                             const Propagation& propagation = FarField{});

/// The same of one whole object (rows, cols) at positions (k, 2) float64, (row, col) of the object
/// index under probe pixel (N/2, N/2).
at::Tensor predict_intensity(const at::Tensor& object, const at::Tensor& probe,
                             const at::Tensor& positions, Interpolation interpolation,
                             const at::Tensor& background,
                             const Propagation& propagation = FarField{});

}  // namespace ptyche
