// The interaction of probe and sample.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// Exit waves psi = P O (Rodenburg & Faulkner, APL 85, 4795 (2004), eq. 1).
///   probe    (modes, N, N), or (k, modes, N, N) where it differs by pattern; complex, sqrt(photon)
///   patches  (k, N, N) complex
/// Returns (k, modes, N, N). Linear in each argument; the adjoint in the patches multiplies by
/// conj(P) and sums over modes.
at::Tensor exit_wave(const at::Tensor& probe, const at::Tensor& patches);

}  // namespace ptyche
