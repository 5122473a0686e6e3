// Fourier transforms as the physics uses them: unitary, over the last two dimensions, FFT order.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// Far-field propagation of exit waves (..., N, N) complex to the detector, FFT order: the unitary
/// DFT, Psi(q) = 1/N sum_r psi(r) exp(-2 pi i q.r / N) (Goodman, Introduction to Fourier Optics,
/// ch. 4.3). The origin of r is index (0, 0): it changes Psi by a phase ramp that no intensity
/// sees. Adjoint, and inverse: back_propagate.
at::Tensor propagate(const at::Tensor& exit_waves);

/// Adjoint and inverse of propagate.
at::Tensor back_propagate(const at::Tensor& waves);

/// (..., N, N) with zero frequency at (N/2, N/2) -> FFT order, and back.
at::Tensor to_fft_order(const at::Tensor& centred);
at::Tensor to_centred(const at::Tensor& fft_ordered);

}  // namespace ptyche
