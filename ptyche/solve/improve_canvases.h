// A few solver steps on the merged objects of a batch: what training pulls the patches towards.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/physics/merge.h"

namespace ptyche {

struct ImproveOptions {
  std::int64_t iterations = 8;   ///< projection steps, >= 0
  double momentum = 0.7;         ///< share of the last change that is repeated, 0..1
  double regularisation = 0.05;  ///< of the largest illumination, > 0: keeps dark pixels still
};

/// Moves each canvas towards the measured amplitudes of all its patterns at once: exit waves are
/// brought to the measured modulus, and the object takes their weighted mean,
///   O += sum_k conj(P_k) chi_k / (sum_k |P_k|^2 + alpha max sum_k |P_k|^2),
/// the object update of the difference map (Thibault et al., Ultramicroscopy 109, 338 (2009), eq.
/// 7) with heavy-ball momentum. No gradient is recorded.
///   canvases    (groups, rows, cols) complex
///   probes      (m, modes, N, N), moved by each position's fraction
///   counts      (m, N, N), FFT order; mask (N, N) bool, FFT order
///   background  (N, N) counts, FFT order, or undefined
at::Tensor improve_canvases(const at::Tensor& canvases, const at::Tensor& probes,
                            const CanvasLayout& layout, const at::Tensor& counts,
                            const at::Tensor& mask, const at::Tensor& background,
                            const ImproveOptions& options);

}  // namespace ptyche
