// From the sample to the detector, wherever that is.
#pragma once

#include "ptyche/physics/near_field.h"

namespace ptyche {

/// Waves at the detector in FFT order (the middle of the detector at index 0): the unitary FFT of
/// the exit waves, or their propagation over a short distance where `near` has a wavelength.
///   exit_waves  (..., N, N) complex
/// Differentiable. Throws InvalidInput as propagate_near_field does.
at::Tensor to_detector(const at::Tensor& exit_waves, const NearFieldOptions& near);

}  // namespace ptyche
