// From the sample to the detector, wherever that is.
#pragma once

#include "ptyche/physics/near_field.h"

namespace ptyche {

/// Waves at the detector in FFT order (the middle of the detector at index 0): the unitary FFT of
/// the exit waves, or their propagation over a short distance where `near` has a wavelength.
///   exit_waves  (k, modes, N, N) complex
///   moved       (k, 2) px or undefined: where the probe was moved by a position's fraction instead
///               of the object, the whole wave is off by it. No far-field intensity sees that; near
///               by, the wave is moved back.
/// Differentiable. Throws InvalidInput as propagate_near_field does.
at::Tensor to_detector(const at::Tensor& exit_waves, const NearFieldOptions& near,
                       const at::Tensor& moved = {});

/// The same as a factor on the spectrum: what FFT2 of exit waves (N, N), N even, is multiplied with
/// so that its inverse FFT2 lies at the detector in FFT order: near_field_transfer times
/// (-1)^(row + col), which moves the middle to (0, 0). complex128. Throws as near_field_transfer
/// does.
at::Tensor detector_transfer(std::int64_t size, const NearFieldOptions& near);

}  // namespace ptyche
