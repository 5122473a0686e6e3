// From the sample to the detector, wherever that is.
#pragma once

#include "ptyche/physics/near_field.h"

namespace ptyche {

/// Waves at the detector in FFT order (the middle of the detector at index 0): the unitary FFT of
/// the exit waves, or their propagation over a short distance where `near` has a wavelength.
///   exit_waves  (..., N, N) complex
/// Differentiable. Throws InvalidInput as propagate_near_field does.
at::Tensor to_detector(const at::Tensor& exit_waves, const NearFieldOptions& near);

/// The same as a factor on the spectrum: what FFT2 of exit waves (N, N), N even, is multiplied with
/// so that its inverse FFT2 lies at the detector in FFT order: near_field_transfer times
/// (-1)^(row + col), which moves the middle to (0, 0). complex128. Throws as near_field_transfer
/// does.
at::Tensor detector_transfer(std::int64_t size, const NearFieldOptions& near);

}  // namespace ptyche
