// What a detector counts.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// Expected counts I(q) = sum_m |Psi_m(q)|^2 + background(q): modes add incoherently (Thibault &
/// Menzel, Nature 494, 68 (2013), eq. 2).
///   waves       (k, modes, N, N) complex, FFT order
///   background  (N, N) counts >= 0 in FFT order, or undefined
/// Returns (k, N, N) in FFT order. Differentiable in both.
at::Tensor measure(const at::Tensor& waves, const at::Tensor& background = {});

}  // namespace ptyche
